"""What earlier runs say of a plan: how long its steps will take. It is read once for each plan, and written down with it."""

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.journal.protocol import Journal
from orchestrator.trying import scope_of
from planner import AnyStep, Draft, MapStep, PlanStep, Step
from planner.identity import step_digests
from planner.past import Named, Past, likeness, taken
from registry.messages import Json
from registry.models.registry import ModelRegistry


def named_by(models: ModelRegistry) -> Named:
    """By these models."""
    return lambda step: models.model(step.hints[0]).name if isinstance(step, Step) else ""


async def history(journal: Journal, plan: Draft, inputs: Mapping[str, Json], named: Named) -> Past:
    """How long the steps of the plan took in earlier runs, or steps that are like them. Expects no circles."""
    took = await journal.durations(_keys(plan, inputs, named))
    return {key: taken(seconds) for key, seconds in took.items()}


def scopes_of(plan: Draft, inputs: Mapping[str, Json]) -> dict[str, str]:
    """What the calls of each step belong to, by its id: its content, whatever it is called."""
    return {step_id: scope_of(digest) for step_id, digest in step_digests(plan, inputs).items()}


def _keys(plan: Draft, inputs: Mapping[str, Json], named: Named) -> Iterator[str]:
    yield from scopes_of(plan, inputs).values()
    yield from dict.fromkeys(_likenesses(plan.steps, named))


def _likenesses(steps: Iterable[AnyStep], named: Named) -> Iterator[str]:
    for step in steps:
        match step:
            case MapStep(step=inner):
                yield from _likenesses([inner], named)
            case PlanStep(plan=plan):
                yield from _likenesses(plan.steps, named)
            case _:
                yield likeness(step, named(step))
