"""Whether an agent gets anywhere: a fold over what it called and what came of it."""

import json
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache

from msgspec import Struct, field

from orchestrator.errors import StepError
from orchestrator.hooks import Hook
from registry.calls import Call
from registry.digests import digest
from registry.errors import ToolDenied
from registry.messages import ToolCall
from registry.tools.tool import Observation

MOST_EQUAL = 3
"""How often the same call may give the same result. The next one is refused, and one after that ends the loop."""


class NoProgress(StepError):
    """An agent made a call again that had been refused because it brings nothing new."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"no progress: {tool!r} was called again and again with the same arguments and the same result")
        self.tool = tool


class Made(Struct, frozen=True, kw_only=True):
    """A call that was made, as a digest, and what came of it. `changes` says that it may have changed what others read."""

    call: str
    result: Hashable
    changes: bool = False


class _Tally(Struct):
    result: Hashable
    times: int = 1
    refused: bool = False


class Progress(Struct):
    """The rounds so far. Nothing but `fold` changes it.

    A call counts as the same again while its result stays the same, whatever is called in between: pairs that take turns get
    nowhere either. Another result begins a new count, so polling is no loop. A new effect may have changed what the other
    calls read, so each of them may be made as if for the second time. `stuck` says that a refused call was made again.
    """

    stuck: bool = False
    _tallies: dict[str, _Tally] = field(default_factory=dict)
    _met: set[tuple[str, Hashable]] = field(default_factory=set)

    def refuses(self, call: str) -> bool:
        """Whether the call has given its latest result too often, without a break."""
        tally = self._tallies.get(call)
        return tally is not None and tally.times >= MOST_EQUAL

    def fold(self, made: Iterable[Made]) -> Mapping[str, int]:
        """Take in one round, the calls of one reply; equal calls within it count once.

        Returns how often each call that was not refused has now given the same result.
        """
        round_ = {each.call: each for each in made}
        times: dict[str, int] = {}
        changed = False
        for each in round_.values():
            tally = self._tallies.get(each.call)
            if tally is not None and tally.times >= MOST_EQUAL:
                self.stuck, tally.refused = self.stuck or tally.refused, True
                continue
            if tally is not None and tally.result == each.result:
                tally.times += 1
            else:
                tally = self._tallies[each.call] = _Tally(each.result)
            times[each.call] = tally.times
            changed = changed or (each.changes and (each.call, each.result) not in self._met)
            self._met.add((each.call, each.result))
        if changed:
            for call, tally in self._tallies.items():
                if call not in round_:
                    tally.times, tally.refused = 1, False
        return times


class RefuseRepeats(Hook):
    """The policy that a call which brings nothing new does not run. What may run, the `others` are asked about."""

    def __init__(self, progress: Progress, others: Hook) -> None:
        self._progress, self._others = progress, others

    async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
        if self._progress.refuses(call_digest(wanted.name, wanted.arguments)):
            why = f"it gave the same result {MOST_EQUAL} times; do something else, or conclude with what you have"
            raise ToolDenied(wanted.name, why)
        return await self._others.before_tool(wanted, call)

    async def after_tool(self, observation: Observation, call: Call) -> Observation:
        return await self._others.after_tool(observation, call)


@lru_cache(maxsize=256)
def call_digest(name: str, arguments: str) -> str:
    """Of a call's name and arguments, however the model happens to write them."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = arguments
    return digest([name, value])


def result_of(seen: Observation) -> Hashable:
    """What the model reads of a result."""
    return seen.text, seen.error


def repeated(times: int) -> str:
    """What the model reads behind a result that it knows, empty for a new one."""
    if times < 2:
        return ""
    more = "Another call like this will be refused." if times == MOST_EQUAL else "Do something else unless it can change."
    return f"\n\n[The same call has now given this same result {times} times. {more}]"
