"""Pure calls of a run that are the same: one of them is made, and the others take what came of it."""

from math import inf
from typing import NamedTuple

import anyio
from msgspec import Struct

from orchestrator.events.facts import ToolEnded, ToolStarted
from orchestrator.events.recorded import Event
from orchestrator.state import RunState
from registry.calls import Call
from registry.messages import ToolCall
from registry.tools.function import FunctionTool
from registry.tools.tool import Observation, Tool

MOST_KEPT = 10_000
"""How many calls of `cacheable` tools a run remembers. What came of them is in its state in any case."""


class Taken(NamedTuple):
    """What came of a call, and the key of that call."""

    key: str
    observation: Observation


class Flight(Struct):
    """A call that is being made. `came` is None until its outcome is written down, and for good where it is cancelled."""

    key: str
    tool: Tool
    wanted: ToolCall
    came: Observation | None = None
    over: bool = False
    landing: anyio.Event | None = None


def is_shared(tool: Tool) -> bool:
    """Whether calls with the same arguments come to the same: not where a tool reads besides what each call belongs to."""
    traits = tool.traits
    return traits.cacheable or (traits.effect == "pure" and isinstance(tool, FunctionTool) and not tool.takes_call)


class Sharing:
    """What the calls of one run can take from each other. Errors are never taken: whoever waited for one makes its own call."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._under_way: dict[tuple[int, str], Flight] = {}
        self._kept: dict[tuple[str, str], str] = {}
        self._begun: dict[str, tuple[str, str]] = {}

    def kept(self, tool: Tool, wanted: ToolCall) -> Taken | None:
        """What the same call of a `cacheable` tool came to earlier."""
        key = self._kept.get((wanted.name, wanted.arguments)) if tool.traits.cacheable else None
        return None if key is None else Taken(key, self._state.observations[key])

    def under_way(self, tool: Tool, wanted: ToolCall) -> bool:
        """Whether the same call is being made right now."""
        return (id(tool), wanted.arguments) in self._under_way

    async def landed(self, tool: Tool, wanted: ToolCall, call: Call) -> Taken | None:
        """What came of the same call, as soon as that is there. None where this call is to be made itself.

        Of those that wait for a call that is cancelled the first is to make it, and the others wait for that one.
        """
        while (other := self._under_way.get((id(tool), wanted.arguments))) is not None:
            other.landing = other.landing or anyio.Event()
            with anyio.CancelScope(deadline=inf if call.deadline is None else call.deadline):
                await other.landing.wait()
            if other.came is not None and other.came.error is None:
                return Taken(other.key, other.came)
            if other.came is not None or not other.over:
                return None
        return None

    def begin(self, tool: Tool, wanted: ToolCall, call: Call) -> Flight:
        """The call is being made, and others may wait for it. `end` is to follow in any case."""
        flight = Flight(call.key, tool, wanted)
        self._under_way.setdefault((id(tool), wanted.arguments), flight)
        return flight

    def end(self, flight: Flight) -> None:
        """What came of the call, if anything did, is written down."""
        same, flight.over = (id(flight.tool), flight.wanted.arguments), True
        if self._under_way.get(same) is flight:
            del self._under_way[same]
        if flight.landing is not None:
            flight.landing.set()
        if flight.tool.traits.cacheable and flight.came is not None and flight.came.error is None:
            self._keep(flight.wanted.name, flight.wanted.arguments, flight.key)

    def learn(self, fact: Event) -> None:
        """Take in a Fact of an earlier life of the run."""
        match fact:
            case ToolStarted(effect="pure", key=key, tool=tool, arguments=arguments):
                self._begun[key] = (tool, arguments)
            case ToolEnded(key=key, observation=seen) if (made := self._begun.pop(key, None)) and seen.error is None:
                self._keep(*made, key)
            case _:
                pass

    def _keep(self, tool: str, arguments: str, key: str) -> None:
        self._kept[(tool, arguments)] = key
        if len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
