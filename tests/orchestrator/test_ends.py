"""How a step ends."""

import pytest

from orchestrator.ends import failed, refused, spoilt
from orchestrator.errors import DeniedByHook, NotVerified, StepTimedOut
from planner import BrokenReference, Step
from planner.results import Skipped, Succeeded
from registry.errors import OverBudget, Unreachable
from registry.usage import Usage

STEP = Step(id="a", task="x")
GOOD = Succeeded(step="a", output="said", model="m", usage=Usage(requests=2), seconds=3.0, iterations=1, origins=("tool:web",))


@pytest.mark.parametrize(
    ("error", "requests", "origins"),
    [
        (Unreachable("m", "down", usage=Usage(requests=3)), 3, ()),
        (BrokenReference("${x}", "no", origins=("tool:web",)), 0, ("tool:web",)),
        (StepTimedOut(3), 0, ()),
    ],
)
def test_an_error_ends_a_step(error: Exception, requests: int, origins: tuple[str, ...]) -> None:
    """With its kind and sentence, what it cost, and where the sentence has its words from."""
    end = failed(STEP, error)

    assert (type(error).__name__, str(error)) == (end.error, end.message)
    assert (requests, origins) == (end.usage.requests, end.origins)


def test_a_request_that_can_not_be_paid_ends_the_budget() -> None:
    """In a result it goes by that name, whatever came before it."""
    over = OverBudget("step 'in'", "cost", left=0)

    for end in (failed(STEP, over), spoilt(GOOD, over)):
        assert ("BudgetExhausted", "step 'in' has used up its dollars") == (end.error, end.message)


def test_a_spoilt_result_was_paid_for_and_can_be_read() -> None:
    """What it took to find that out counts too."""
    end = spoilt(GOOD, NotVerified("too long", usage=Usage(requests=1)))

    assert ("NotVerified", "said", 3, "m", 1) == (end.error, end.output, end.usage.requests, end.model, end.iterations)
    assert GOOD.origins == end.origins


def test_a_refused_result_is_not_shown() -> None:
    """What a hook does not let through is not read by others; what never ran stays as it is."""
    skipped = Skipped(step="a", because_of="b", reason="b failed")

    assert "" == refused(GOOD, DeniedByHook("it", "no")).output
    assert skipped is refused(skipped, DeniedByHook("it", "no"))
