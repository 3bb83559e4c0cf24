"""The warning of work that the plan asks for twice, and that is done once."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from planner.diagnostics import Diagnostic, pointer, warning
from planner.identity import twins
from planner.plan import AnyStep, Draft
from registry.messages import Json


def repeating(draft: Draft, same: Mapping[str, str]) -> Iterator[Diagnostic]:
    """P029: steps that do what an earlier one does. `same` is what is `repeated` in the draft."""
    for index, step in enumerate(draft.steps):
        if step.id in same:
            message = f"step {step.id!r} is the same as {same[step.id]!r}: it is not done, and takes the result of that one"
            fix = "remove it; to do something twice, say in the task what is different"
            yield warning("P029", pointer("steps", index), message, fix=fix)
        for found in _inside(step):
            yield replace(found, place=pointer("steps", index) + found.place)


def repeated(draft: Draft, inputs: Mapping[str, Json]) -> Mapping[str, str]:
    """Which step does what an earlier one does, and which that is. A closer look is taken only where it is worth it.

    Expects a draft without structural errors.
    """
    # The first of all that repeat something has the same task as the other, and waits for the same.
    seen = {(step.kind, step.about, tuple(step.depends_on)) for step in draft.steps}
    return twins(draft, inputs) if len(seen) < len(draft.steps) else {}


def _inside(step: AnyStep) -> Iterator[Diagnostic]:
    """What is repeated in the plans within the step, with places relative to it. What these are given nobody knows yet."""
    if step.kind == "map":
        yield from (replace(found, place="/step" + found.place) for found in _inside(step.step))
    elif step.kind == "plan":
        yield from (replace(found, place="/plan" + found.place) for found in repeating(step.plan, repeated(step.plan, {})))
