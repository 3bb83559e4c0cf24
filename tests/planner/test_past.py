"""How long steps took before."""

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import AnyStep, Draft
from planner.past import Experience, Took, likeness, taken
from planner.plan import ApprovalStep, MapStep, PlanStep, ToolStep
from tests.planner.drafts import step

SAME, ALIKE = (Took(low=n, likely=n, high=n, times=1) for n in (1.0, 2.0))


@pytest.mark.parametrize(
    ("kind", "like"),
    [
        pytest.param(step("a"), "agent/small", id="agent"),
        pytest.param(ToolStep(id="a", tool="search"), "tool/search", id="tool"),
        pytest.param(ApprovalStep(id="a", question="?"), "", id="a person takes as long as they take"),
        pytest.param(MapStep(id="a", over=[1], step=step("x")), "", id="map"),
        pytest.param(PlanStep(id="a", plan=Draft(goal="g", steps=[step("x")])), "", id="plan"),
    ],
)
def test_likeness(kind: AnyStep, like: str) -> None:
    """Steps are alike by their tool, or by their model."""
    assert like == likeness(kind, "small")


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param([3.0], Took(low=3, likely=3, high=3, times=1), id="one"),
        pytest.param([4.0, 2.0], Took(low=2.2, likely=3, high=3.8, times=2), id="two"),
        pytest.param([float(n) for n in range(11)], Took(low=1, likely=5, high=9, times=11), id="many"),
        pytest.param([1.0, 1.0, 1.0, 1.0, 500.0], Took(low=1, likely=1, high=300.4, times=5), id="one that hung"),
    ],
)
def test_what_is_to_be_expected(seconds: list[float], expected: Took) -> None:
    """Half take less than is likely, and a tenth less than the lowest or more than the highest."""
    found = taken(seconds)

    assert (expected.low, expected.likely, expected.high) == pytest.approx((found.low, found.likely, found.high))
    assert expected.times == found.times


@pytest.mark.parametrize(
    ("past", "expected"),
    [
        pytest.param({}, None, id="nothing is known"),
        pytest.param({"step/1": SAME, "agent/small": ALIKE}, SAME, id="the same step"),
        pytest.param({"step/2": SAME, "agent/small": ALIKE}, ALIKE, id="one like it"),
        pytest.param({"agent/large": ALIKE}, None, id="another model"),
        pytest.param({"": ALIKE}, None, id="nothing has no likeness"),
    ],
)
def test_the_same_step_says_more_than_one_like_it(past: dict[str, Took], expected: Took | None) -> None:
    """What is known of others counts only where nothing is known of the step itself."""
    known = Experience(past=past, scopes={"a": "step/1"}, named=lambda _: "small")

    assert expected == known.of(step("a"))


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_what_is_expected_lies_within_what_was(seconds: list[float]) -> None:
    """In order, and between the shortest and the longest."""
    found = taken(seconds)

    assert min(seconds) <= found.low <= found.likely + 1e-6 <= found.high + 2e-6 <= max(seconds) + 3e-6
    assert pytest.approx(median(seconds)) == found.likely
