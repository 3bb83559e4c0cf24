"""The whole check."""

from collections.abc import Sequence
from itertools import chain

from planner.check.grants import grant_errors
from planner.check.known import Known
from planner.check.promises import promise_errors
from planner.check.repeats import repeated, repeating
from planner.check.risks import risky, unable, writers
from planner.check.structure import structural_errors
from planner.check.waste import crowding, serialising, unused
from planner.diagnostics import Diagnostic
from planner.mentions import Mentions, mentions
from planner.plan import Draft, Plan


def check(draft: Draft, known: Known) -> tuple[Diagnostic, ...]:
    """All that is wrong with the draft, by itself and against what the run has; and what is odd, if its structure is sound."""
    said = [mentions(step) for step in draft.steps]
    structural = () if isinstance(draft, Plan) else structural_errors(draft, said)  # a Plan has none, or it would not be there
    errors = structural + grant_errors(draft, known) + promise_errors(draft, known, said)
    return errors if structural else errors + _warnings(draft, known, said)


def _warnings(draft: Draft, known: Known, said: Sequence[Mentions]) -> tuple[Diagnostic, ...]:
    needs = {step.id: each.needs for step, each in zip(draft.steps, said, strict=True)}
    same = repeated(draft, known.inputs)
    return tuple(
        chain(
            unused(draft, known, needs),
            serialising(draft, known, said),
            repeating(draft, same),
            crowding(draft, known),
            writers(draft, known, needs, same),
            risky(draft, known, needs),
            unable(draft, known),
        )
    )
