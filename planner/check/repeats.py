"""The warning of work that the plan asks for twice, and that is done once."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from planner.check.known import Known
from planner.diagnostics import Diagnostic, pointer, warning
from planner.identity import twins
from planner.plan import AnyStep, Draft, MapStep, PlanStep
from registry.messages import Json


def repeating(draft: Draft, known: Known) -> Iterator[Diagnostic]:
    """P029: steps that do what an earlier one does. Expects a draft without structural errors."""
    return _repeating(draft, known.inputs)


def repeated(draft: Draft, inputs: Mapping[str, Json]) -> Mapping[str, str]:
    """Which step does what an earlier one does, and which that is. A closer look is taken only where it is worth it."""
    # The first of all that repeat something has the same task as the other, and waits for the same.
    seen = {(step.kind, step.about, tuple(step.depends_on)) for step in draft.steps}
    return twins(draft, inputs) if len(seen) < len(draft.steps) else {}


def _repeating(draft: Draft, inputs: Mapping[str, Json]) -> Iterator[Diagnostic]:
    same = repeated(draft, inputs)
    for index, step in enumerate(draft.steps):
        place = pointer("steps", index)
        if step.id in same:
            message = f"step {step.id!r} is the same as {same[step.id]!r}: it is not done, and takes the result of that one"
            yield warning("P029", place, message, fix="remove it; to do something twice, say in the task what is different")
        yield from (replace(found, place=place + found.place) for found in _inside(step))


def _inside(step: AnyStep) -> Iterator[Diagnostic]:
    """What is repeated in the plans within the step, with places relative to it. What these are given nobody knows yet."""
    match step:
        case MapStep(step=inner):
            yield from (replace(found, place="/step" + found.place) for found in _inside(inner))
        case PlanStep(plan=plan):
            yield from (replace(found, place="/plan" + found.place) for found in _repeating(plan, {}))
        case _:
            return
