"""What a run is asked for, and within which limits."""

import pytest

from orchestrator import Limits
from orchestrator.accepted import Accepted, begin
from orchestrator.ledger import private_ledger
from planner import Plan, PlanStep, Step
from planner.plan import PlanLimits
from registry.budget import UNLIMITED, Amounts

pytestmark = pytest.mark.anyio


def plan(**limits: int) -> Plan:
    return Plan(goal="g", steps=[Step(id="a", task="t")], limits=PlanLimits(**limits))


def accepted(goal: str | Plan, **limits: int) -> Accepted:
    return Accepted.of(goal, {}, today="2026-01-02", setup={}, limits=Limits(**limits), unpriced="allow")


@pytest.mark.parametrize(
    ("goal", "limits"),
    [
        pytest.param("g", Amounts(requests=9), id="a goal"),
        pytest.param(plan(), Amounts(requests=9), id="a plan without limits"),
        pytest.param(plan(max_requests=5, max_tokens=100), Amounts(requests=5, tokens=100), id="a plan that wants less"),
        pytest.param(plan(max_requests=50), Amounts(requests=9), id="a plan that wants more"),
    ],
)
def test_the_smaller_limits_hold(goal: str | Plan, limits: Amounts) -> None:
    """Of those who ask, and those of the plan."""
    assert limits == accepted(goal, max_requests=9).limits


def test_limits_inside_a_plan_are_known_before_it_is_run() -> None:
    """For whoever must know whether money is limited anywhere."""
    whole = Plan(goal="g", steps=[PlanStep(id="in", plan=plan(max_tokens=7))])

    assert [Amounts(requests=9), Amounts(tokens=7)] == list(accepted(whole, max_requests=9).all_limits)
    assert [UNLIMITED] == list(accepted("g").all_limits)


async def test_limits_are_written_down_with_the_run() -> None:
    """They are those of the run, and not of the process that works on it."""
    ledger = await private_ledger()
    await begin(accepted("g", max_requests=9), ledger)
    await begin(accepted("g", max_requests=5), ledger)
    started = ledger.state.started
    assert started is not None

    assert (Amounts(requests=9), "allow") == (started.limits, started.unpriced)
