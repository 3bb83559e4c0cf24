"""What to do about a reply that is empty or was cut off: pure decisions, within limits."""

from dataclasses import dataclass, replace

from orchestrator.errors import AgentStopped
from planner.results import Outcome
from registry.messages import AssistantMessage, Message, Reply, UserMessage

EMPTY_LIMIT = 2
"""How often an empty reply is asked for again."""

CONTINUE_LIMIT = 3
"""How often a reply that was cut off is continued; also the most recoveries of one iteration, all causes together."""

UNFINISHED: dict[str, Outcome] = {"length": "truncated", "refused": "refused"}
"""The outcomes of replies that are no basis for going on."""


@dataclass(slots=True)
class Recovery:
    """One iteration's recoveries so far, and the text that was already written."""

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
        if reply.finish == "length":
            return self._continue(reply)
        if reply.text.strip() or reply.calls or reply.finish == "refused" or self.empty >= EMPTY_LIMIT:
            return ()
        self.empty += 1
        return (UserMessage(text="Your reply was empty. Please answer."),)

    def _continue(self, reply: Reply) -> tuple[Message, ...]:
        self.continued += 1
        if reply.calls or not reply.text:
            # A call that was cut off must not run, even where what is left of it can be parsed.
            return (UserMessage(text="Your last reply was cut off before it was complete. Say it again, shorter."),)
        self.written += reply.text
        return (
            AssistantMessage(text=reply.text),
            UserMessage(text="Your reply was cut off. Go on exactly where it ended, without repeating anything."),
        )


def cut_off(reply: Reply, cap: int | None) -> AgentStopped | None:
    """Why a reply has no end, None when it has one. Where reasoning took all there was, only a higher cap helps."""
    if reply.finish != "length":
        return None
    thought = reply.usage.reasoning_tokens
    limit = "the model's own limit" if cap is None else f"the cap of {cap} tokens"
    return AgentStopped("truncated", f"it reached {limit}{f', {thought} tokens of it reasoning' if thought else ''}")
