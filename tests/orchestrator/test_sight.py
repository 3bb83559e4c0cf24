"""What a step may see of its run."""

import pytest

from orchestrator.sight import Inside, Sight
from planner import BrokenReference, Plan, Step
from planner.errors import Undecided
from planner.references import Own
from planner.results import Failed, Skipped, Succeeded

RESULTS = {
    "a": Succeeded(step="a", output="found", data={"n": 3}, origins=("tool:web",)),
    "f": Failed(step="f", error="ToolFailed", message="no"),
    "s": Skipped(step="s", because_of="f", reason="f failed"),
    "in/a": Succeeded(step="in/a", output="inner"),
}
SIGHT = Sight(
    plan=Plan(goal="g", steps=[Step(id="a", task="x")]),
    inputs={"i": 1},
    results=RESULTS,
    own=Own(values={"item": {"k": [1]}, "index": 0}, origins=("tool:list",), inputs=("tool:disk",)),
)


def test_everything_brings_its_origins() -> None:
    """What the place of a step gives it, and inputs that are not the user's."""
    assert ("tool:list",) == SIGHT.resolved("${item.k[0]}").origins
    assert ("tool:disk",) == SIGHT.resolved("${inputs.i}").origins
    assert ("tool:disk", "tool:list", "tool:web") == SIGHT.resolved(["${index}", "${steps.a.output} ${inputs.i}"]).origins


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("${steps.a.data.n} > 2 and ${item.k} == [1]", True),
        ("${steps.a.status} == 'succeeded'", True),
        ("[${steps.f.status}, ${steps.s.status}] == ['failed', 'skipped']", True),
        ("${inputs.i} != 1", False),
    ],
)
def test_conditions_look_at_all_of_it(condition: str, expected: bool) -> None:
    """Inputs, results, how steps ended, and the item."""
    assert expected is SIGHT.holds(condition)


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        ("${steps.f.output} == 1", BrokenReference),
        ("${steps.s.data.n} == 1", BrokenReference),
        ("${output} == 1", BrokenReference),
        ("${item} > 1", Undecided),
    ],
)
def test_what_is_not_there_decides_nothing(condition: str, error: type[Exception]) -> None:
    """A step without a result has none, whatever is said of it elsewhere."""
    with pytest.raises(error):
        SIGHT.holds(condition)


def test_what_a_sentence_quotes_has_its_origins() -> None:
    """A condition that can't be decided says why, with the values that it looked at."""
    with pytest.raises(Undecided) as raised:
        SIGHT.holds("${steps.a.data.n} > 1 and ${item} > 1")

    assert ("tool:list", "tool:web") == raised.value.origins


def test_a_plan_inside_sees_its_own_results_alone() -> None:
    """By its own ids, also where it is inside one that is inside another."""
    inside = Inside(RESULTS, "in/", ("a", "b"))

    assert {"a": RESULTS["in/a"]} == dict(inside)
    assert 1 == len(inside)
    assert "s" not in inside
    assert {"a": RESULTS["in/a"]} == dict(Inside(Inside(RESULTS, "x/", ()), "in/", ("a",)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("${index}", "0"), ("${steps.a.data}", '{"n":3}'), ("no. ${index}", "no. 0"), ("plain", "plain")],
)
def test_a_text_stays_a_text(text: str, expected: str) -> None:
    """Also where it is one reference to something else and nothing besides."""
    assert expected == SIGHT.worded(text).value
