"""How long steps took, as journals remember it from run to run."""

from collections.abc import Iterable, Iterator
from itertools import islice

from orchestrator.events.facts import Fact, StepEnded
from planner.results import Succeeded

LATEST = 20
"""How many steps of a kind are asked after: what took long a hundred runs ago says little of today."""

LOOKED_AT = 500
"""Among how many they are looked for, where some are other people's."""

Duration = tuple[str, float]
"""What steps have in common, and how many seconds one of them took."""


def durations(facts: Iterable[Fact]) -> Iterator[Duration]:
    """What these Facts say of how long steps take: one that went well, for its content and for those that are like it."""
    for fact in facts:
        if isinstance(fact, StepEnded) and fact.like and isinstance(fact.result, Succeeded):
            yield fact.scope, fact.result.seconds
            yield fact.like, fact.result.seconds


class Remembered:
    """Durations in memory. They are worked out when somebody asks, so that they cost nothing where nobody does."""

    def __init__(self) -> None:
        self._fresh: list[tuple[str, StepEnded]] = []
        self._known: dict[str, list[tuple[str, float]]] = {}

    def add(self, run: str, end: StepEnded) -> None:
        self._fresh.append((run, end))

    def latest(self, keys: Iterable[str], prefix: str) -> dict[str, tuple[float, ...]]:
        """By key, the latest first, of runs with such ids. The keys are not looked at where there is nothing to be found."""
        fresh, self._fresh = self._fresh, []
        for run, end in fresh:
            for key, seconds in durations([end]):
                self._known.setdefault(key, []).append((run, seconds))
        if not self._known:
            return {}
        found = {key: tuple(islice(self._of(key, prefix), LATEST)) for key in keys if key in self._known}
        return {key: took for key, took in found.items() if took}

    def _of(self, key: str, prefix: str) -> Iterator[float]:
        latest = islice(reversed(self._known[key]), LOOKED_AT)
        return (seconds for run, seconds in latest if run.startswith(prefix))

    def forget(self, run: str) -> None:
        self._fresh = [(each, end) for each, end in self._fresh if each != run]
        kept = {key: [each for each in took if each[0] != run] for key, took in self._known.items()}
        self._known = {key: took for key, took in kept.items() if took}
