"""What a run came to, from its Facts alone."""

import pytest
from msgspec.structs import replace

from orchestrator.events.facts import Fact, ModelFailed, RunInterrupted, StepEnded, StepStarted, ToolEnded
from orchestrator.events.recorded import Recorded
from orchestrator.summary import summarised
from planner.results import Failed, Skipped, StepResult, Succeeded
from registry.tools.tool import Observation
from registry.usage import UNMETERED


def facts(*events: Fact) -> list[Recorded]:
    return [Recorded(seq=place, time=0.0, run="r", event=event) for place, event in enumerate(events, 1)]


def began(step: str) -> StepStarted:
    return StepStarted(step=step, step_kind="agent", scope=f"step/{step}")


def ended(result: StepResult | str) -> StepEnded:
    result = Succeeded(step=result, output="x") if isinstance(result, str) else result
    return StepEnded(scope=f"step/{result.step}", result=result)


def test_steps_are_counted_by_their_ends() -> None:
    """Each end in its own column; seconds and iterations are sums over the steps, those of failed ones too."""
    told = facts(
        ended(Succeeded(step="a", output="x", seconds=2.0, iterations=3)),
        ended(Failed(step="b", error="X", message="x", seconds=1.5, iterations=1)),
        ended(Skipped(step="c", because_of="b", reason="b failed")),
    )

    summary = summarised(told, wall_seconds=2.5, reused=4)

    assert (3, 1, 1, 1) == (summary.steps, summary.succeeded, summary.failed, summary.skipped)
    assert (3.5, 2.5, 4) == (summary.step_seconds, summary.wall_seconds, summary.iterations)
    assert 4 == summary.reused


def test_calls_and_costs_are_counted() -> None:
    """Tool calls by their outcomes; a cost that nobody knows makes the usage a lower bound."""
    seen = ToolEnded(key="k", scope="s", step="a", iteration=1, observation=Observation(call_id="1", name="t", text="x"))
    broken = ModelFailed(key="k", scope="s", purpose="step", step="a", iteration=1, error="X", message="x", usage=UNMETERED)

    summary = summarised(facts(seen, seen, broken), wall_seconds=0.0, reused=0)

    assert 2 == summary.tool_calls
    assert (1, False) == (summary.usage.requests, summary.usage.exact)


def test_nothing_is_a_run_too() -> None:
    """A run that ended before it began has a summary of noughts."""
    summary = summarised([], wall_seconds=0.0, reused=0)

    assert (0, 0.0, 0, ()) == (summary.steps, summary.step_seconds, summary.usage.requests, summary.overlapped)


@pytest.mark.parametrize(
    ("events", "overlapped"),
    [
        pytest.param([began("a"), ended("a"), began("b"), ended("b")], (), id="one after the other"),
        pytest.param([began("a"), began("b"), ended("a"), ended("b")], ("a", "b"), id="side by side"),
        pytest.param(
            [began("a"), began("b"), ended("b"), began("c"), ended("c"), ended("a")], ("a", "b", "c"), id="one with many"
        ),
        pytest.param([began("a"), ended("z"), ended("a"), began("b")], (), id="an end without a start"),
        pytest.param(
            [replace(began("m"), step_kind="map"), began("m[0]"), ended("m[0]"), began("m[1]"), ended("m[1]"), ended("m")],
            (),
            id="what consists of others only runs in them",
        ),
        pytest.param([began("a"), RunInterrupted(why="x"), began("b")], (), id="not across an interruption"),
    ],
)
def test_who_ran_side_by_side(events: list[Fact], overlapped: tuple[str, ...]) -> None:
    """The steps that ran while another did, in the order they began."""
    assert overlapped == summarised(facts(*events), wall_seconds=0.0, reused=0).overlapped
