"""Models and tools as a run sees them: every call has a key, is written down, and is never paid for twice."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

import anyio
from msgspec.structs import replace

from orchestrator.clearance import clearance
from orchestrator.events.facts import ModelFailed, ModelReplied, ToolEnded, ToolStarted
from orchestrator.keys import Digests, tool_digest
from orchestrator.ledger import Ledger
from orchestrator.patience import bounded
from orchestrator.sharing import Taken, is_shared
from orchestrator.waiting import Waiting
from registry.calls import Call
from registry.errors import ModelError, Truncated, Unreachable
from registry.governor.retry import cost_of
from registry.messages import Piece, Reply, Request, TextPiece, ToolCall
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.tools.calling import call_tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Effect, Observation, Tool
from registry.usage import UNMETERED

T = TypeVar("T")

Turn = Callable[[], Awaitable[None]]
"""Waits until the calls that come before have begun."""

_GRACE = 0.1
"""Seconds after a call's deadline in which the layers below may say how it ended, for they know what their attempts cost."""


class JournalledModel(ModelLayer):
    """A model whose finished calls are given out again under their key. The outermost layer of the stack."""

    def __init__(self, inner: Model, ledger: Ledger) -> None:
        super().__init__(inner)
        self._ledger, self._digests = ledger, Digests()

    async def chat(self, request: Request, call: Call) -> Reply:
        key, known = self._find(request, call)
        if known is not None:
            return known
        began = anyio.current_time()
        try:
            reply = await self._in_time(self._inner.chat(request, call), call)
        except ModelError as error:
            await self._failed(key, call, error)
            raise
        await self._replied(key, call, reply, began)
        return reply

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        key, known = self._find(request, call)
        if known is not None:
            yield TextPiece(known.text)
            yield known
            return
        began = anyio.current_time()
        try:
            async with aclosing(self._inner.stream_chat(request, call)) as pieces:
                whole = False
                while (piece := await self._in_time(anext(pieces, None), call)) is not None:
                    if isinstance(piece, Reply):
                        whole = True
                        await self._replied(key, call, piece, began)
                    yield piece
            if not whole:
                raise Truncated(self.name, "the stream ended without a reply")
        except ModelError as error:
            await self._failed(key, call, error)
            raise

    def _find(self, request: Request, call: Call) -> tuple[str, Reply | None]:
        key = self._ledger.key(call, call.purpose, self._digests.of(request))
        known = self._ledger.state.replies.get(key)
        self._ledger.reused += known is not None
        return key, known

    async def _replied(self, key: str, call: Call, reply: Reply, began: float) -> None:
        await self._ledger.record(
            ModelReplied(
                key=key,
                scope=call.scope,
                purpose=call.purpose,
                step=call.label,
                iteration=call.iteration,
                reply=reply,
                seconds=anyio.current_time() - began - reply.waited,
            )
        )

    async def _failed(self, key: str, call: Call, error: ModelError) -> None:
        error.usage = cost_of(error)
        await self._ledger.record(
            ModelFailed(
                key=key,
                scope=call.scope,
                purpose=call.purpose,
                step=call.label,
                iteration=call.iteration,
                error=type(error).__name__,
                message=str(error),
                usage=error.usage,
            )
        )

    def _in_time(self, wait: Awaitable[T], call: Call) -> Awaitable[T]:
        """What comes before the call's deadline. Those that are punctual scope their own waits; this covers all others."""
        return wait if self.punctual or call.deadline is None else self._bounded(wait, call.deadline + _GRACE)

    async def _bounded(self, wait: Awaitable[T], deadline: float) -> T:
        with anyio.CancelScope(deadline=deadline):
            return await wait
        late = Unreachable(self.name, "no reply before the deadline")
        late.usage = UNMETERED
        raise late


class JournalledTools:
    """The tools of one scope. The intent is written before anything runs, and the outcome after it.

    Where `ending` says that a scope ends with each of its calls, what a pure one came to is not waited for by itself: it is
    written with that end, which nobody hears of before both are.
    """

    def __init__(self, tools: ToolRegistry, ledger: Ledger, *, ending: bool = False) -> None:
        self.tools, self._ledger, self._ending = tools, ledger, ending

    def keyed(self, wanted: ToolCall, call: Call) -> tuple[ToolCall, Call]:
        """The call under its tool's own name, with its key. To be asked in call order, before any call of a batch starts."""
        name = self.tools.meant(wanted.name)
        meant = wanted if name == wanted.name else replace(wanted, name=name)
        # A pure call may well be made anew by the next attempt; an effect must not happen twice because of it.
        effectful = _effect(self.tools.find(name)) != "pure"
        return meant, call.under(self._ledger.key(call, "tool", tool_digest(meant), across_attempts=effectful))

    def recall(self, call: Call) -> Observation | None:
        """The outcome that was written down under `call.key` in an earlier life of the run, or None."""
        known = self._ledger.state.observations.get(call.key)
        self._ledger.reused += known is not None
        return known

    async def observe(self, wanted: ToolCall, call: Call, *, turn: Turn | None = None) -> Observation | Waiting:
        """A new outcome for the call under `call.key`, or what it waits for. What was begun before does not just run again.

        `turn` is awaited before anything begins.
        """
        state, tool = self._ledger.state, self.tools.find(wanted.name)
        effect, begun = _effect(tool), state.begun.get(call.key, 0)
        if tool is not None and (begun or tool.traits.asks):
            instead = await clearance(tool, wanted, call, state)
            if isinstance(instead, Waiting):
                return instead
            if instead is not None:
                await self.observed(instead, call)
                return instead
        if turn is not None:
            await turn()
        if not begun or effect not in ("pure", "keyed"):
            # An effect waits until it is written that it is meant to happen.
            await (self._ledger.jot if effect == "pure" else self._ledger.record)(_intent(wanted, call, effect))
        return await (self._made(tool, wanted, call) if tool is None or not is_shared(tool) else self._shared(tool, wanted, call))

    async def _shared(self, tool: Tool, wanted: ToolCall, call: Call) -> Observation:
        """What came of the same call, or of this one, and then others may take it."""
        sharing = self._ledger.sharing
        taken = sharing.kept(tool, wanted)
        if taken is None and sharing.under_way(tool, wanted):
            taken = await sharing.landed(tool, wanted, call)
        if taken is not None:
            return await self._taken(taken, wanted, call)
        flight = sharing.begin(tool, wanted, call)
        try:
            flight.came = await self._made(tool, wanted, call)
        finally:
            sharing.end(flight)
        return flight.came

    async def foresee(self, wanted: ToolCall, call: Call) -> Waiting | None:
        """What the call will wait for when it is its turn, as far as that can be said now. Nothing runs."""
        tool = self.tools.find(wanted.name)
        if tool is None or call.key in self._ledger.state.observations:
            return None
        instead = await clearance(tool, wanted, call, self._ledger.state)
        return instead if isinstance(instead, Waiting) else None

    async def observed(self, observation: Observation, call: Call, *, same_as: str = "") -> None:
        """Write down an outcome, also of a call that was refused before it could run."""
        await self._ledger.record(_outcome(observation, call, same_as))

    async def _made(self, tool: Tool | None, wanted: ToolCall, call: Call) -> Observation:
        observation = await call_tool(self.tools, wanted, call)
        if observation.error is not None:
            observation = bounded(self.tools, observation, call, (recorded.event for recorded in self._ledger.facts))
        elif self._ending and tool is not None and tool.traits.effect == "pure" and not tool.traits.cacheable:
            await self._ledger.jot(_outcome(observation, call))
            return observation
        await self.observed(observation, call)
        return observation

    async def _taken(self, taken: Taken, wanted: ToolCall, call: Call) -> Observation:
        """What came of the same call as the outcome of this one, for which nothing had to run."""
        observation = replace(taken.observation, call_id=wanted.id, seconds=0.0)
        self._ledger.reused += 1
        await self.observed(observation, call, same_as=taken.key)
        return observation


def _effect(tool: Tool | None) -> Effect:
    # What there is no tool for can't run, so there is nothing to repeat.
    return "pure" if tool is None else tool.traits.effect


def _outcome(observation: Observation, call: Call, same_as: str = "") -> ToolEnded:
    return ToolEnded(
        key=call.key,
        scope=call.scope,
        step=call.label,
        iteration=call.iteration,
        observation=observation,
        same_as=same_as,
    )


def _intent(wanted: ToolCall, call: Call, effect: Effect) -> ToolStarted:
    return ToolStarted(
        key=call.key,
        scope=call.scope,
        step=call.label,
        iteration=call.iteration,
        call_id=wanted.id,
        tool=wanted.name,
        arguments=wanted.arguments,
        effect=effect,
    )
