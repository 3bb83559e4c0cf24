"""What to do about a reply that is empty or was cut off: pure decisions, within limits."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from orchestrator.errors import AgentStopped
from registry.messages import AssistantMessage, Message, Reply, UserMessage

EMPTY_LIMIT = 2
"""How often an empty reply is asked for again."""

CONTINUE_LIMIT = 3
"""How often a reply that was cut off is continued; also the most recoveries of one iteration, all causes together."""

FAULT_LIMIT = 2
"""After how many iterations in a row that came to nothing the loop ends."""

Fault = Literal["empty", "truncated"]
"""What makes a reply no basis for going on. It is the loop's outcome when it stays so."""

NOTES: Mapping[Fault, str] = {
    "empty": "You have not answered. Use a tool, or answer with what you know.",
    "truncated": "Your reply was cut off however often you went on with it, and can't be used. Be much shorter.",
}
"""What the model reads after an iteration that came to nothing."""


class Recovery(Struct):
    """One iteration's recoveries so far, and the text that was already written.

    `continues` says whether a reply that was cut off can be gone on with; otherwise it has to be said anew.
    """

    continues: bool = True
    written: str = ""
    empty: int = 0
    continued: int = 0

    def whole(self, reply: Reply) -> Reply:
        """The reply with what was written before it."""
        return replace(reply, text=self.written + reply.text) if self.written else reply

    def again(self, reply: Reply) -> tuple[Message, ...]:
        """What to add to the request to get a better reply; nothing when the reply is good or can't be helped."""
        if self.empty + self.continued >= CONTINUE_LIMIT:
            return ()
        match fault_of(reply):
            case "truncated":
                return self._continue(reply)
            case "empty" if self.empty < EMPTY_LIMIT:
                self.empty += 1
                return (UserMessage(text="Your reply was empty. Please answer."),)
            case _:
                return ()

    def _continue(self, reply: Reply) -> tuple[Message, ...]:
        self.continued += 1
        if reply.calls or not reply.text or not self.continues:
            # A call that was cut off must not run, even where what is left of it can be parsed.
            return (UserMessage(text="Your last reply was cut off before it was complete. Say it again, shorter."),)
        self.written += reply.text
        return (
            AssistantMessage(text=reply.text),
            UserMessage(text="Your reply was cut off. Go on exactly where it ended, without repeating anything."),
        )


def fault_of(reply: Reply) -> Fault | None:
    """What is wrong with a reply as such, whatever it says; None for one that can be read."""
    if reply.finish == "length":
        return "truncated"
    if reply.text.strip() or reply.calls or reply.finish == "refused":
        return None
    return "empty"


def stopped(fault: Fault, reply: Reply, cap: int | None, *, instead: str) -> AgentStopped:
    """Why the loop ends. Where reasoning took all there was, only a higher cap helps; `cap` is ours, in tokens.

    `instead` is what the model said earlier and now has to do for an answer, empty for nothing.
    """
    if fault == "empty":
        return AgentStopped(fault, "what it said in an earlier turn stands in its place" if instead else "")
    thought = reply.usage.reasoning_tokens
    limit = "the model's own limit" if cap is None else f"the cap of {cap} tokens"
    return AgentStopped(fault, f"it reached {limit}{f', {thought} tokens of it reasoning' if thought else ''}")
