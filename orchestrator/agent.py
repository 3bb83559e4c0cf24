"""The reason-act-observe loop: one loop, two dialects."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Literal

from orchestrator.batch import observe_all
from orchestrator.dialects import Act, Conclude, Garbled
from orchestrator.dialects.speech import Speech
from orchestrator.errors import StepError
from orchestrator.events.glimpses import Concluding, ThinkingBegan
from orchestrator.hooks import Hook, as_one
from orchestrator.interrupts import InterruptQueue, InterruptReader
from orchestrator.journalled import JournalledModel, JournalledTools
from orchestrator.ledger import Ledger, private_ledger
from orchestrator.prompts import AGENT, LAST_WORD, REFORMAT, trace_request
from orchestrator.recovery import UNFINISHED, Recovery, cut_off
from orchestrator.waiting import Waiting
from planner.results import Outcome
from registry.calls import NO_CALL, Call
from registry.context import ContextGuard
from registry.errors import DagwrightError, ModelError, Truncated, Unable
from registry.messages import Message, Piece, Reply, Request, Reset, TextPiece, ToolCall, UserMessage
from registry.models.model import Model
from registry.origins import TRUSTED, Origins, joined
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Observation, Tool
from registry.usage import Usage

AgentOutcome = Outcome | Literal["suspended"]

UNPARSED = "(could not parse LLM output as JSON)"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """How a loop ended, and everything that was said in it.

    `answer` is the whole answer, or what there was by then. `outcome` is "completed" for a success; "suspended" is not an
    end: `waiting` says what for. `unparsed` marks an answer that is the model's raw text, since it never kept to its dialect.
    `waited` is the seconds that requests queued.
    """

    answer: str
    outcome: AgentOutcome
    transcript: tuple[Message, ...]
    usage: Usage
    iterations: int
    reasoning: str = ""
    unparsed: bool = False
    model: str = ""
    waited: float = 0.0
    waiting: tuple[Waiting, ...] = ()
    error: DagwrightError | None = None

    @property
    def origins(self) -> Origins:
        """Everything untrusted that was read on the way to the answer."""
        return joined(*(message.origins for message in self.transcript))


class ReActAgent:
    """An agent with one model and a set of tools. It keeps no state between runs, so many may go on at once.

    `use_native_tools=False` makes it speak Json even to a model with tool calls; so does a run without a reply yet, where only
    models without them are left of several. It must conclude within `max_iterations` laps; `reply_tokens` caps each reply.
    """

    def __init__(
        self,
        model: Model,
        tools: ToolRegistry | Iterable[Tool | Callable[..., object]] = (),
        *,
        system: str = AGENT,
        hooks: Hook | None = None,
        interrupts: InterruptQueue | None = None,
        use_native_tools: bool = True,
        max_iterations: int = 50,
        reply_tokens: int | None = None,
    ) -> None:
        self.model = model
        self.tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self.hooks = as_one(hooks)
        self.interrupts = interrupts or InterruptQueue()
        self.max_iterations, self.reply_tokens = max_iterations, reply_tokens
        self.guard = ContextGuard(model.context_window)
        self.speech = Speech(system, self.tools.specs, model.abilities, use_native_tools=use_native_tools)

    async def run(
        self,
        goal: str,
        *,
        history: Sequence[Message] = (),
        call: Call = NO_CALL,
        ledger: Ledger | None = None,
        origins: Origins = TRUSTED,
    ) -> AgentResult:
        """Loop until the model concludes, or can't. How it ended is in the result's `outcome`, and why in its `error`.

        `history` is an earlier conversation without its system message. In a plan the executor passes the run's `ledger`, and
        the `origins` of what it put into the goal.
        """
        ledger = ledger or await private_ledger()
        said = [self.speech.opening, *history, UserMessage(text=goal, pinned=True, origins=origins)]
        call = replace(call, run=call.run or ledger.run, label=call.label or "agent")
        return await _Loop(self, ledger, call, self.speech, said).run()

    async def stream_answer(self, result: AgentResult, *, call: Call = NO_CALL) -> AsyncGenerator[Piece, None]:
        """The user-facing answer, written anew from the whole trace. Where that fails, the loop's answer is the answer."""
        shown, call = False, replace(call, purpose="synthesis")
        try:
            asked = trace_request(result.transcript)
            request = replace(asked, messages=self.guard.fit(asked.messages).messages)
            async with aclosing(self.model.stream_chat(request, call)) as pieces:
                async for piece in pieces:
                    if not isinstance(piece, Reply):
                        await self.hooks.on_stream(piece, call)
                    shown = shown or isinstance(piece, TextPiece)
                    yield piece
        except ModelError as error:
            if shown:
                yield Reset(str(error))
            yield TextPiece(result.answer)


@dataclass(slots=True)
class _Loop:
    """One run of an agent: what has been said, and what it has cost."""

    agent: ReActAgent
    ledger: Ledger
    call: Call
    speech: Speech
    said: list[Message]
    replied: bool = False
    usage: Usage = field(default_factory=Usage)
    waited: float = 0.0
    reasoning: str = ""
    unread: int = 0
    model: JournalledModel = field(init=False)
    tools: JournalledTools = field(init=False)
    heard: InterruptReader = field(init=False)

    def __post_init__(self) -> None:
        self.model = JournalledModel(self.agent.model, self.ledger)
        self.tools = JournalledTools(self.agent.tools, self.ledger)
        self.heard = self.agent.interrupts.reader()

    async def run(self) -> AgentResult:
        try:
            return await self._laps()
        except (ModelError, StepError) as error:
            self.usage += error.usage if isinstance(error, ModelError) else Usage()
            return self._ended("", "failed", error=error)

    async def _laps(self) -> AgentResult:
        self._hear()
        for iteration in range(1, self.agent.max_iterations + 1):
            self.call = replace(self.call, iteration=iteration)
            reply = await self._lap()
            result = await self._answered(reply)
            if result is not None:
                return result
        return await self._last_word()

    async def _lap(self) -> Reply:
        """One reply: an empty one asked for again, one that was cut off continued, within their limits."""
        await self.agent.hooks.before_iteration(self.call.iteration, self.call)
        self.ledger.glimpse(ThinkingBegan(step=self.call.label, iteration=self.call.iteration))
        recovery, extra = Recovery(), tuple[Message, ...]()
        while True:
            try:
                reply = await self._ask(*self.said, *extra)
            except Unable as unable:
                self._speak_without(unable)
                continue
            whole = recovery.whole(reply)
            if reply.finish == "length" and not self.speech.dialect.continues:
                break
            more = recovery.again(reply)
            if not more:
                break
            extra += more
        await self.agent.hooks.after_iteration(self.call.iteration, whole, self.call)
        return whole

    def _speak_without(self, unable: Unable) -> None:
        """Begin anew, in a dialect that needs none of what no model left can do. Raises the error when that is no way out."""
        humbler = self.speech.without(unable.needs)
        if humbler is None or self.replied:
            raise unable
        self.usage += unable.usage
        self.speech, self.said[0] = humbler, humbler.opening

    async def _ask(self, *messages: Message, may_act: bool = True) -> Reply:
        fitted = self.agent.guard.fit(messages, self.agent.tools.specs)
        request = self.speech.dialect.request(fitted.messages, self.agent.tools.specs, may_act=may_act)
        request = replace(request, max_tokens=self.agent.reply_tokens)
        if await self.agent.hooks.should_stream(self.call.iteration):
            reply = await self._stream(request)
        else:
            reply = await self.model.chat(request, self.call)
        self.replied = True
        self.usage += reply.usage
        self.waited += reply.waited
        return reply

    async def _stream(self, request: Request) -> Reply:
        async with aclosing(self.model.stream_chat(request, self.call)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    return piece
                await self.agent.hooks.on_stream(piece, self.call)
        raise Truncated(self.model.name, "the stream ended without a reply")

    async def _answered(self, reply: Reply) -> AgentResult | None:
        """Take in a reply. Returns the loop's result when it is over, None for one more lap."""
        self.said.append(replace(self.speech.dialect.said(reply), origins=joined(*(message.origins for message in self.said))))
        if reply.finish == "length" and not self.speech.dialect.continues:
            return self._ask_again(reply, "it was cut off before it was complete; be shorter")
        if (outcome := UNFINISHED.get(reply.finish)) is not None:  # calls that were cut off must not run
            return self._ended(reply.text, outcome, error=cut_off(reply, self.agent.reply_tokens))
        match self.speech.dialect.read(reply):
            case Conclude(text=text, reasoning=reasoning):
                return self._conclude(text, reasoning)
            case Garbled(why=why):
                return self._ask_again(reply, why)
            case Act(calls=calls, reasoning=reasoning):
                self.reasoning, self.unread = reasoning, 0
                return await self._act(calls)

    def _conclude(self, text: str, reasoning: str) -> AgentResult | None:
        self.reasoning = reasoning
        if self._hear():  # a message that came meanwhile suppresses the answer
            return None
        if not text.strip():
            return self._ended("", "empty")
        self.ledger.glimpse(Concluding(step=self.call.label, iteration=self.call.iteration))
        return self._ended(text, "completed")

    def _ask_again(self, reply: Reply, why: str) -> AgentResult | None:
        self.unread += 1
        if self.unread > 1:
            self.reasoning = UNPARSED
            answered: Outcome = "completed" if reply.text.strip() else "empty"
            outcome = UNFINISHED.get(reply.finish, answered)
            return self._ended(reply.text, outcome, unparsed=True, error=cut_off(reply, self.agent.reply_tokens))
        self.said.append(UserMessage(text=REFORMAT.format(why=why)))
        self._hear()
        return None

    async def _act(self, calls: Sequence[ToolCall]) -> AgentResult | None:
        seen = await observe_all(self.tools, calls, self.call, self.agent.hooks)
        waiting = tuple(each for each in seen if isinstance(each, Waiting))
        if waiting:
            return self._ended("", "suspended", waiting=waiting)
        self.said.extend(self.speech.dialect.observed([each for each in seen if isinstance(each, Observation)]))
        self._hear()
        return None

    def _hear(self) -> bool:
        message = self.heard.drain()
        if message is not None:
            self.said.append(message)
        return message is not None

    async def _last_word(self) -> AgentResult:
        """At the limit: one more request, without tools, for an honest summary of what there is."""
        self.said.append(UserMessage(text=LAST_WORD))
        try:
            reply = await self._ask(*self.said, may_act=False)
        except ModelError as error:
            self.usage += error.usage
            return self._ended(f"No conclusion within the limit, and no summary either: {error}", "exhausted")
        read = self.speech.dialect.read(reply)
        return self._ended(read.text if isinstance(read, Conclude) else reply.text, "exhausted")

    def _ended(
        self,
        answer: str,
        outcome: AgentOutcome,
        *,
        unparsed: bool = False,
        waiting: tuple[Waiting, ...] = (),
        error: DagwrightError | None = None,
    ) -> AgentResult:
        return AgentResult(
            answer=answer,
            outcome=outcome,
            transcript=tuple(self.said),
            usage=self.usage,
            iterations=self.call.iteration,
            reasoning=self.reasoning,
            unparsed=unparsed,
            model=self.model.name,
            waited=self.waited,
            waiting=waiting,
            error=error,
        )
