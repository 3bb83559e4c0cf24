"""How long the steps of a walk will probably take, and of which it can be said afterwards how long they took."""

from collections.abc import Iterable, Mapping

from orchestrator.trying import Try
from planner import AnyStep
from planner.forecast import likely_seconds
from planner.past import Experience, Named, Past, likeness


class Timing:
    """`past` is what earlier runs say."""

    def __init__(self, past: Past, named: Named) -> None:
        self._past, self._named = past, named
        self._like: dict[str, str] = {}

    def weights(self, steps: Iterable[AnyStep], tries: Mapping[str, Try]) -> dict[str, float]:
        """The likely seconds of each step, by its id."""
        scopes = {step_id: this.scope for step_id, this in tries.items()} if self._past else {}
        experience = Experience(past=self._past, scopes=scopes, named=self._named)
        return likely_seconds(steps, experience)

    def begin(self, step: AnyStep, model: str) -> None:
        """The step begins, for the first time in all lives of the run, on this model."""
        self._like[step.id] = likeness(step, model)

    def spoil(self, step_id: str) -> None:
        """Its seconds will not tell how long such steps take: it waits for a person, and is done anew after that."""
        self._like.pop(step_id, None)

    def like(self, step_id: str) -> str:
        """What the step shares with those that take about as long; empty where its seconds say nothing of theirs."""
        return self._like.pop(step_id, "")
