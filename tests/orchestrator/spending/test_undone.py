"""What a run that had to land says of itself."""

from orchestrator.spending.undone import landed, undone
from planner import Plan, Step
from planner.results import Achieved, Failed, Missing, Skipped, Succeeded

PLAN = Plan(goal="g", steps=[Step(id=name, task="t", optional=name in "de") for name in "abcde"])
RESULTS = {
    "a": Succeeded(step="a", output="x"),
    "b": Failed(step="b", error="BudgetExhausted", message="out of it"),
    "c": Skipped(step="c", because_of="c", reason="none left"),
    "d": Skipped(step="d", because_of="d", reason="it is optional"),
    "e": Succeeded(step="e", output="x"),
}
UNDONE = ("b failed: out of it", "c skipped: none left", "d (optional) skipped: it is optional")


def test_what_was_not_done_is_missing() -> None:
    """Each step and why, optional ones too; whatever a judge says besides stands first. Who finds the goal met is believed."""
    missing = Missing(reasoning="no", missing=("the rest", "b failed: out of it"))

    assert UNDONE == undone(PLAN, RESULTS)
    assert ("the rest", *UNDONE) == landed(missing, PLAN, RESULTS).missing
    assert Achieved(reasoning="yes") == landed(Achieved(reasoning="yes"), PLAN, RESULTS)
