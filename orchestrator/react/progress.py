"""Whether an agent gets anywhere: a fold over what it called and what came of it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from msgspec import Struct

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
    """A call that was made and what came of it, both as digests. `changes` says that it may have changed what others read."""

    call: str
    result: str
    changes: bool = False


@dataclass(slots=True)
class _Tally:
    result: str
    times: int = 1
    refused: bool = False


@dataclass(slots=True)
class Progress:
    """The rounds so far. Nothing but `fold` changes it.

    A call counts as the same again while its result stays the same, whatever is called in between: pairs that take turns get
    nowhere either. Another result begins a new count, so polling is no loop. A new effect may have changed what the other
    calls read, so each of them may be made as if for the second time. `stuck` says that a refused call was made again.
    """

    stuck: bool = False
    _tallies: dict[str, _Tally] = field(default_factory=dict)
    _met: set[tuple[str, str]] = field(default_factory=set)

    def times(self, call: str) -> int:
        """How often the call has given its latest result, without a break."""
        tally = self._tallies.get(call)
        return 0 if tally is None else tally.times

    def refuses(self, call: str) -> bool:
        return self.times(call) >= MOST_EQUAL

    def fold(self, made: Iterable[Made]) -> Mapping[str, int]:
        """Take in one round, the calls of one reply; equal calls within it count once.

        Returns how often each call that was not refused has now given the same result.
        """
        round_ = {each.call: each for each in made}
        ran = [each for each in round_.values() if not self.refuses(each.call)]
        fresh = [each for each in ran if (each.call, each.result) not in self._met]
        for each in round_.values():
            self._count(each)
        self._met.update((each.call, each.result) for each in fresh)
        if any(each.changes for each in fresh):
            for call, tally in self._tallies.items():
                if call not in round_:
                    tally.times, tally.refused = 1, False
        return {each.call: self.times(each.call) for each in ran}

    def _count(self, made: Made) -> None:
        tally = self._tallies.get(made.call)
        if tally is not None and self.refuses(made.call):
            self.stuck, tally.refused = self.stuck or tally.refused, True
        elif tally is not None and tally.result == made.result:
            tally.times += 1
        else:
            self._tallies[made.call] = _Tally(made.result)


class RefuseRepeats(Hook):
    """The policy that a call which brings nothing new does not run."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:  # noqa: ARG002
        if self._progress.refuses(call_digest(wanted.name, wanted.arguments)):
            why = f"it gave the same result {MOST_EQUAL} times; do something else, or conclude with what you have"
            raise ToolDenied(wanted.name, why)
        return wanted


@lru_cache(maxsize=256)
def call_digest(name: str, arguments: str) -> str:
    """Of a call's name and arguments, however the model happens to write them."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = arguments
    return digest([name, value])


def result_digest(seen: Observation) -> str:
    """Of what the model reads of a result."""
    return digest([seen.text, seen.error])


def repeated(times: int) -> str:
    """What the model reads behind a result that it knows, empty for a new one."""
    if times < 2:
        return ""
    more = "Another call like this will be refused." if times == MOST_EQUAL else "Do something else unless it can change."
    return f"\n\n[The same call has now given this same result {times} times. {more}]"
