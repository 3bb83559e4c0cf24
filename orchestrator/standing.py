"""Where a run of the journal stands, as people call it."""

from collections.abc import Sequence
from typing import Literal

from orchestrator.events.facts import RunEnded, RunSuspended, Word
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import Listed

Standing = Literal["running", "suspended", "interrupted", "achieved", "missing", "failed", "cancelled", "damaged"]

CLOSED: tuple[Standing, ...] = ("achieved", "missing", "cancelled")
"""Where nothing can follow."""

FINISHED: tuple[Standing, ...] = (*CLOSED, "failed")
"""Where nobody needs to go on, though a failed run may be resumed."""


def standing(listed: Listed, facts: Sequence[Recorded]) -> Standing:
    """Where it stands by its last Facts. A run that nobody works on and that was not brought to an end was interrupted."""
    if listed.damage:
        return "damaged"
    if listed.holder:
        return "running"
    work = [recorded.event for recorded in facts if not isinstance(recorded.event, Word)]
    match work[-1:]:
        case [RunEnded(outcome=outcome)]:
            return outcome
        case [RunSuspended()]:
            return "suspended"
        case _:
            return "interrupted"
