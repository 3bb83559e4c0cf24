"""The agent: one model, a set of tools, and a loop that reasons, acts and observes."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager

import anyio
from msgspec.structs import replace

from orchestrator.hooks import Hook, as_one
from orchestrator.interrupts import InterruptQueue
from orchestrator.ledger import Ledger, private_ledger
from orchestrator.prompts import AGENT, TRACE_CUT
from orchestrator.react.answer import FinalAnswer
from orchestrator.react.loop import Loop
from orchestrator.react.opened import AgentRun
from orchestrator.react.outcome import UNPARSED, AgentOutcome, AgentResult
from orchestrator.react.selection import TOOL_SELECTION_MAX, TOOL_SELECTION_THRESHOLD
from orchestrator.react.task import Equipment, Task
from orchestrator.unwrapping import sole_error
from registry.calls import NO_CALL, Call
from registry.context import ContextGuard
from registry.errors import ConfigurationError
from registry.messages import Message, Piece
from registry.models.model import Model
from registry.origins import TRUSTED, Origins
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Tool

__all__ = [
    "TOOL_SELECTION_MAX",
    "TOOL_SELECTION_THRESHOLD",
    "UNPARSED",
    "AgentOutcome",
    "AgentResult",
    "AgentRun",
    "ReActAgent",
]


class ReActAgent:
    """An agent with one model and a set of tools. It keeps no state between runs, so many may go on at once.

    `use_native_tools=False` makes it speak Json even to a model with tool calls; so does a run without a reply yet, where only
    models without them are left of several. It must conclude within `max_iterations` laps; `reply_tokens` caps each reply.
    Of very many tools the model is shown a choice, in which the one of `tool_hint` always is. `compaction` sums up what would
    not fit the model's window any more, which otherwise is left out. `interrupts` are heard by every run that is not given a
    queue of its own. Raises `ConfigurationError` for a limit that is no whole number from 1.
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
        tool_hint: str | None = None,
        compaction: Model | None = None,
    ) -> None:
        if type(max_iterations) is not int or max_iterations < 1:
            raise ConfigurationError(f"max_iterations must be a whole number from 1, and not {max_iterations!r}")
        self.max_iterations = max_iterations
        self._interrupts = interrupts
        self._made_of = Equipment(
            model=model,
            compaction=compaction,
            tools=tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools),
            hooks=as_one(hooks),
            guard=ContextGuard(model.context_window),
            system=system,
            tool_hint=tool_hint,
            use_native_tools=use_native_tools,
            max_iterations=max_iterations,
            reply_tokens=reply_tokens,
        )

    async def run(
        self,
        goal: str,
        *,
        history: Sequence[Message] = (),
        call: Call = NO_CALL,
        ledger: Ledger | None = None,
        interrupts: InterruptQueue | None = None,
        origins: Origins = TRUSTED,
    ) -> AgentResult:
        """Loop until the model concludes, or can't. How it ended is in the result's `outcome`, and why in its `error`.

        `history` is an earlier conversation, such as a result's `transcript`. In a plan the executor passes the run's `ledger`,
        and the `origins` of what it put into the goal.
        """
        ledger = ledger or await private_ledger()
        call = replace(call, run=call.run or ledger.run, label=call.label or "agent")
        task = Task(goal=goal, history=tuple(history), origins=origins)
        return await Loop(self._made_of, task, ledger, call, interrupts or self._interrupts or InterruptQueue()).run()

    @asynccontextmanager
    async def open(self, goal: str, *, history: Sequence[Message] = ()) -> AsyncIterator[AgentRun]:
        """A run to follow while it goes on: `async with agent.open(goal) as run: async for event in run.events: ...`.

        Leaving the block before the end ends the run.
        """
        ledger, interrupts = await private_ledger(), InterruptQueue()
        run = AgentRun(ledger, interrupts)
        with sole_error():
            async with anyio.create_task_group() as group:
                group.start_soon(run.live, lambda: self.run(goal, history=history, ledger=ledger, interrupts=interrupts))
                yield run
                group.cancel_scope.cancel()

    async def stream_answer(
        self, result: AgentResult, *, call: Call = NO_CALL, result_chars: int = TRACE_CUT
    ) -> AsyncGenerator[Piece, None]:
        """The user-facing answer, written anew from the whole trace. Where that fails, the loop's answer is the answer.

        The model reads `result_chars` characters of each tool result.
        """
        made_of = self._made_of
        answer = FinalAnswer(made_of.model, made_of.guard, made_of.hooks, result_chars=result_chars)
        pieces = answer.stream(result, replace(call, purpose="synthesis"))
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece
