"""Which plan follows which: how often a run may plan anew, and what the user has said meanwhile."""

from itertools import pairwise

from orchestrator.state import RunState
from planner.results import Missing, Verdict


def another(state: RunState, verdict: Verdict, round_: int, *, most: int, gained: bool) -> bool:
    """Whether another plan follows that of this round, on which the verdict is.

    At most `most` plans count, and one that `gained` nothing is not followed by another: a verdict without confidence says
    nothing that a revision could go by. What the user has said since the plan was asked for is planned for all the same, and uses
    up no round. A run that was stopped makes no new plan.
    """
    if len(state.rounds) > round_ or round_ + 1 in state.rejected:  # so it was in an earlier life of the run
        return True
    if state.stopped is not None:
        return False
    if _late(state, round_):
        return True
    if not isinstance(verdict, Missing):
        return False
    unplanned = len(state.said) > state.rounds[round_ - 1].heard
    return unplanned or (verdict.confidence > 0 and gained and _counted(state, round_) < most)


def _counted(state: RunState, round_: int) -> int:
    """How many plans count, up to that of this round."""
    made = state.rounds[:round_]
    return len(made) - sum(later.heard > earlier.heard for earlier, later in pairwise(made))


def _late(state: RunState, round_: int) -> bool:
    """Whether the user said something that the judge of this round did not know, before the answer was begun."""
    return len(state.said) > state.verdicts[round_ - 1].heard and all(begun.phase != "synthesis" for begun in state.phases)
