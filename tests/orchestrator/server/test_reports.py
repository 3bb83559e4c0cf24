"""What is told of a run, worked out from its Facts."""

import pytest

from orchestrator.events.facts import RunStarted, StepEnded, StepPaused, StepStarted
from orchestrator.journal.protocol import Outline
from orchestrator.limits import Limits
from orchestrator.server.asking import Setup
from orchestrator.server.reports import line_of, steps_of, usage_of
from orchestrator.waiting import Waiting
from planner import Plan, Step
from planner.results import Failed, Skipped, StepResult, Succeeded
from registry.usage import Usage
from tests.orchestrator.server.test_feeds import recorded

PLAN = Plan(goal="g", steps=(Step(id="a", task="a"), Step(id="b", task="b", depends_on=("a",))))


def started(step: str) -> StepStarted:
    return StepStarted(step=step, step_kind="agent", scope=f"step/{step}", model="m")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(Succeeded(step="a", output="out", seconds=2.0), ("completed", 2.0, "out", ""), id="succeeded"),
        pytest.param(Failed(step="a", error="E", message="no", seconds=1.0), ("failed", 1.0, "", "no"), id="failed"),
        pytest.param(Skipped(step="a", because_of="x", reason="x failed"), ("skipped", None, "", "x failed"), id="skipped"),
    ],
)
def test_how_a_step_ended(result: StepResult, expected: tuple[object, ...]) -> None:
    """In its own words; the others wait."""
    steps = steps_of(PLAN, recorded([started("a"), StepEnded(scope="step/a", result=result)]))

    assert expected == (steps["a"].state, steps["a"].seconds, steps["a"].output, steps["a"].error)
    assert ("waiting", "agent", "m") == (steps["b"].state, steps["a"].kind, steps["a"].model)


def test_steps_that_run_and_wait() -> None:
    """Those inside others are there as soon as they begin."""
    waiting = Waiting(step="a[0]", key="k", what="w", kind="approval")
    steps = steps_of(PLAN, recorded([started("b"), started("a[0]"), StepPaused(waiting=waiting)]))

    assert [("a", "waiting"), ("b", "running"), ("a[0]", "paused")] == [(step.id, step.state) for step in steps.values()]


def test_a_run_without_a_plan_yet() -> None:
    """Has no steps."""
    assert {} == steps_of(None, ())


def test_a_run_at_a_glance() -> None:
    """Its goal and whether a client holds on to it, as far as its first Fact is there; why it is damaged is not told."""
    setup = Setup(limits=Limits(), attached=True).written()
    (first,) = recorded([RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02", setup=setup)])

    assert ("g", True, "") == tuple(
        getattr(line_of(Outline(run="r", first=first), "running"), name) for name in ("goal", "attached", "damage")
    )
    damaged = line_of(Outline(run="r", damage="/secret/place: torn"), "damaged")
    assert ("", "its records can't be read") == (damaged.goal, damaged.damage)


def test_money_is_a_decimal_in_text() -> None:
    """No float comes near it."""
    from decimal import Decimal

    assert "0.00000012345678901" == usage_of(Usage(cost=Decimal("0.00000012345678901"))).cost
