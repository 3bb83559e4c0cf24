"""The warning of work that a plan asks for twice: the smallest plan that raises it, and the nearest that doesn't."""

import pytest

from planner.check import Known, check
from planner.check.repeats import repeated, repeating
from planner.plan import ApprovalStep, Draft, Input, MapStep, PlanStep, ToolStep
from tests.planner.drafts import draft, step


def told(drafted: Draft, **inputs: object) -> list[tuple[str, str]]:
    """Where a step repeats another one, and which."""
    found = repeating(drafted, repeated(drafted, inputs))
    return [(one.place, one.message.split("'")[3]) for one in found if one.code == "P029"]


def inner(*steps, **fields):
    return PlanStep(id="p", plan=Draft(goal="a part", steps=steps), **fields)


@pytest.mark.parametrize(
    ("drafted", "places"),
    [
        pytest.param(draft(step("a", task="t"), step("b", task="t", timeout=3)), [("/steps/1", "a")], id="twice"),
        pytest.param(draft(step("a", task="t"), step("b", task="u")), [], id="another task"),
        pytest.param(draft(step("a", task="t"), step("b", "a", task="t")), [], id="one after the other"),
        pytest.param(
            draft(step("a", task="t"), step("b", task="t"), step("c", "a", task="u"), step("d", "b", task="u")),
            [("/steps/1", "a"), ("/steps/3", "c")],
            id="what waits for either",
        ),
        pytest.param(draft(*(step(name, task="t") for name in "abc")), [("/steps/1", "a"), ("/steps/2", "a")], id="three times"),
        pytest.param(
            draft(ToolStep(id="a", tool="t", args={"x": 1}), ToolStep(id="b", tool="t", args={"x": 1})),
            [("/steps/1", "a")],
            id="tool",
        ),
        pytest.param(
            draft(ToolStep(id="a", tool="t", args={"x": 1}), ToolStep(id="b", tool="t", args={"x": 2})), [], id="other arguments"
        ),
        pytest.param(draft(*(ApprovalStep(id=name, question="?") for name in "ab")), [], id="questions"),
        pytest.param(
            draft(inner(step("a", task="t"), step("b", task="t"))), [("/steps/0/plan/steps/1", "a")], id="in a plan inside"
        ),
        pytest.param(
            draft(MapStep(id="m", over=[1], step=inner(step("a", task="t"), step("b", task="t")))),
            [("/steps/0/step/plan/steps/1", "a")],
            id="in the plan of a map",
        ),
        pytest.param(draft(MapStep(id="m", over=[1, 1], step=step("i", task="t"))), [], id="items"),
    ],
)
def test_what_repeats_what(drafted, places):
    """A step that does what an earlier one does is told with the one that it repeats, wherever it stands."""
    assert places == told(drafted)


@pytest.mark.parametrize(
    ("fields", "given", "repeats"),
    [
        pytest.param({}, {}, False, id="not given"),
        pytest.param({}, {"x": 1, "y": 1}, False, id="of two names"),
        pytest.param({"default": "d"}, {}, False, id="of two names by default"),
    ],
)
def test_inputs_of_other_names(fields, given, repeats):
    """Before a run nobody says that two inputs will be the same."""
    steps = step("a", task="use ${inputs.x}"), step("b", task="use ${inputs.y}")

    assert repeats is bool(told(draft(*steps, inputs={"x": Input(**fields), "y": Input(**fields)}), **given))


def test_it_is_part_of_the_whole_check():
    """As a warning, with what to do; a plan that is broken otherwise is not looked at so closely."""
    twice = step("a", task="t"), step("b", task="t")
    (found,) = check(draft(*twice), Known())

    assert "step 'b' is the same as 'a': it is not done, and takes the result of that one" == found.message
    assert ("P029", "warning", "/steps/1") == (found.code, found.severity, found.place)
    assert found.fix
    assert {"P005"} == {one.code for one in check(draft(*twice, step("c", "zz")), Known())}


def test_thousands_of_steps():
    """All that repeat the first are told in no time."""
    assert 2_999 == len(told(draft(*(step(f"s{number}", task="t") for number in range(3_000)))))
