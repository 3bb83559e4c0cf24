"""Repairs what a model wrote for a plan, by fixed rules and without asking anybody. Whatever is changed is reported.

A plan that a person submits is never repaired: it is checked, and refused with its diagnostics.
"""

from collections.abc import Mapping

from planner.check import Known
from planner.check.promises import promise_errors
from planner.diagnostics import Diagnostic, error
from planner.files.text import too_deep
from planner.plan import Draft
from planner.repair.edges import without_circles, without_loose_edges, without_loose_references, without_unpromised
from planner.repair.entries import Ground
from planner.repair.naming import with_usable_ids, without_relisted
from planner.repair.pruning import with_known_names, without_empty, without_surplus, without_twins
from planner.repair.reading import entries_of
from registry.messages import Json

__all__ = ["repair"]

_PASSES = (
    without_relisted,
    with_usable_ids,
    with_known_names,
    without_empty,
    without_loose_edges,
    without_loose_references,
    without_unpromised,
    without_circles,
    without_twins,
    without_surplus,
)


def repair(
    value: Json, known: Known, *, base: Draft | None = None, most: int | None = None
) -> tuple[Draft | None, tuple[Diagnostic, ...]]:
    """The draft that a model meant, and what had to be mended for it; None and an error when it is nothing like a plan.

    `base` is what the answer extends: its goal, inputs, output, limits and steps stay as they are, and come first. `most` is how
    many steps the answer may add. A repaired draft has no structural errors but that it may lack steps (P001) or a goal (P013);
    arguments that their tool can't take (P019) are not ours to change, and stay errors.
    """
    base = base or Draft()
    read = None if too_deep(value) else entries_of(value)
    if read is None:
        return None, (error("P012", "", "the answer is no plan", fix='answer with {"steps": [...]}'),)
    entries, found = read
    ground = Ground(known=known, base=base, most=most)
    for mend in _PASSES:
        entries, mended = mend(entries, ground)
        found = found + mended
    steps = (*base.steps, *(entry.step for entry in entries))
    draft = Draft(goal=base.goal or _goal(value), inputs=base.inputs, steps=steps, output=base.output, limits=base.limits)
    return draft, (*found, *promise_errors(draft, known))


def _goal(value: Json) -> str:
    goal = value.get("goal") if isinstance(value, Mapping) else None
    return goal if isinstance(goal, str) else ""
