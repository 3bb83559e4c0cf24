"""What each step was doing when."""

import pytest

from orchestrator.events.facts import Answered, Fact
from orchestrator.timeline.stretches import Stretch, courses, covered
from tests.orchestrator.timeline.telling import (
    INTERRUPTED,
    OVER,
    ends,
    fails,
    pauses,
    replies,
    skips,
    starts,
    suspended,
    told,
    waits,
)

YES = Answered(waiting=waits("a").id, key="step/a", decision="approve")


def going(*facts: tuple[float, Fact], now: float | None = None) -> list[tuple[str, float, float]]:
    """What step a was doing."""
    moment = None if now is None else 1_000.0 + now
    return [tuple(stretch) for stretch in courses(told(*facts), now=moment).steps["a"].stretches]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param([(1, starts("a")), (4, ends("a"))], [("running", 1, 4)], id="ran"),
        pytest.param([(1, starts("a")), (4, fails("a"))], [("running", 1, 4)], id="failed"),
        pytest.param([(1, skips("a"))], [], id="skipped"),
        pytest.param(
            [(1, starts("a")), (9, replies("a", seconds=3, waited=4)), (9, ends("a"))],
            [("running", 1, 2), ("slot", 2, 6), ("running", 6, 9)],
            id="waited for a slot",
        ),
        pytest.param(
            [(1, starts("a")), (9, replies("a", seconds=3, waited=4, scope="plan/1")), (9, ends("a"))],
            [("running", 1, 9)],
            id="the planner waited, whose label is the name of a step",
        ),
        pytest.param(
            [(1, starts("a")), (2, pauses("a")), (5, YES), (7, ends("a"))],
            [("running", 1, 2), ("person", 2, 5), ("running", 5, 7)],
            id="waited for a person",
        ),
        pytest.param(
            [(1, starts("a")), (2, pauses("a")), (2, suspended("a")), (5, YES), (8, ends("a", seconds=1))],
            [("running", 1, 2), ("person", 2, 5), ("away", 5, 7), ("running", 7, 8)],
            id="suspended, answered, and resumed later",
        ),
        pytest.param(
            [(1, starts("a")), (2, pauses("a")), (2, suspended("a")), (3, INTERRUPTED)],
            [("running", 1, 2), ("person", 2, 3)],
            id="nobody has answered yet",
        ),
        pytest.param(
            [(1, starts("a")), (3, INTERRUPTED), (10, replies("a", seconds=2, waited=1)), (11, ends("a"))],
            [("running", 1, 3), ("away", 3, 7), ("slot", 7, 8), ("running", 8, 11)],
            id="interrupted, and resumed",
        ),
        pytest.param(
            [(1, starts("a")), (3, INTERRUPTED), (6, INTERRUPTED), (10, ends("a", seconds=1))],
            [("running", 1, 3), ("away", 3, 6), ("away", 6, 9), ("running", 9, 10)],
            id="three lives",
        ),
        pytest.param([(1, starts("a")), (5, starts("b"))], [("running", 1, 5)], id="the process was killed"),
        pytest.param(
            [(1, starts("a")), (2, fails("a")), (4, starts("a")), (5, ends("a"))],
            [("running", 1, 2), ("running", 4, 5)],
            id="two attempts",
        ),
        pytest.param([(3, starts("a")), (1, starts("b")), (5, ends("a"))], [("running", 3, 5)], id="a clock that was set back"),
    ],
)
def test_a_step_goes_its_course(facts: list[tuple[float, Fact]], expected: list[tuple[str, float, float]]) -> None:
    """Each moment from its beginning to its end is in one stretch, and no stretch is empty or ends before it begins."""
    assert expected == going(*facts)


def test_what_goes_on_is_drawn_to_now() -> None:
    """A step that runs, runs until now, and one that waits waits; where the run was left, nobody works on it."""
    assert [("running", 1, 9)] == going((1, starts("a")), now=9)
    assert [("running", 1, 2), ("person", 2, 9)] == going((1, starts("a")), (2, pauses("a")), (2, suspended("a")), now=9)
    assert [("running", 1, 2), ("away", 2, 9)] == going((1, starts("a")), (2, INTERRUPTED), now=9)


def test_how_steps_ended() -> None:
    """A step that was begun anew is open again."""
    facts = [(1, ends("a")), (2, fails("b")), (3, skips("c")), (4, starts("b")), (5, starts("d")), (6, OVER)]

    assert {"a": "succeeded", "b": "open", "c": "skipped", "d": "open"} == {
        name: course.end for name, course in courses(told(*facts)).steps.items()
    }


def test_seconds_are_spent_in_states() -> None:
    """The sum over all stretches in them; a run that is empty took none."""
    course = courses(told((1, starts("a")), (2, pauses("a")), (5, YES), (7, ends("a")))).steps["a"]

    assert (3.0, 3.0, 6.0) == (course.spent("running"), course.spent("person"), course.spent("running", "person"))
    assert (0.0, {}) == (courses([]).wall, courses([]).steps)


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        pytest.param([], [("running", 2, 8)], id="nothing"),
        pytest.param([(0, 1), (9, 10)], [("running", 2, 8)], id="beside it"),
        pytest.param([(0, 10)], [("slot", 2, 8)], id="all of it"),
        pytest.param([(1, 3), (7, 9)], [("slot", 2, 3), ("running", 3, 7), ("slot", 7, 8)], id="its ends"),
        pytest.param(
            [(3, 5), (4, 6)], [("running", 2, 3), ("slot", 3, 5), ("slot", 5, 6), ("running", 6, 8)], id="over each other"
        ),
    ],
)
def test_one_thing_is_laid_over_another(over: list[tuple[float, float]], expected: list[tuple[str, float, float]]) -> None:
    """What is left of the stretch stays, and no moment is told twice."""
    laid = [Stretch("slot", begin, end) for begin, end in over]

    assert expected == [tuple(each) for each in covered(Stretch("running", 2, 8), laid)]
