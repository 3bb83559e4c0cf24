"""The whole check."""

from itertools import chain

from planner.check.grants import grant_errors
from planner.check.known import Known
from planner.check.promises import promise_errors
from planner.check.repeats import repeating
from planner.check.risks import risky, unable, writers
from planner.check.structure import structural_errors
from planner.check.waste import crowding, serialising, unused
from planner.diagnostics import Diagnostic
from planner.graph import graph
from planner.plan import Draft, Plan


def check(draft: Draft, known: Known) -> tuple[Diagnostic, ...]:
    """All that is wrong with the draft, by itself and against what the run has; and what is odd, if its structure is sound."""
    structural = () if isinstance(draft, Plan) else structural_errors(draft)  # a Plan has none, or it would not be there
    errors = structural + grant_errors(draft, known) + promise_errors(draft, known)
    return errors if structural else errors + _warnings(draft, known)


def _warnings(draft: Draft, known: Known) -> tuple[Diagnostic, ...]:
    edges = graph(draft.steps)
    return tuple(
        chain(
            unused(draft, known, edges),
            serialising(draft, known),
            repeating(draft, known),
            crowding(draft, known),
            writers(draft, known, edges),
            risky(draft, known, edges),
            unable(draft, known),
        )
    )
