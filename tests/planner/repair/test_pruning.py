"""What can't be done, is done twice, or is too much."""

import pytest

from planner.check import Known
from planner.plan import ApprovalStep, Step, ToolStep
from planner.repair.entries import Entry, Ground
from planner.repair.pruning import with_known_names, without_empty, without_surplus, without_twins
from tests.planner.drafts import draft, step

KNOWN = Known(tools=frozenset({"search"}), hints=frozenset({"fast"}))


def ground(*base, most=None):
    return Ground(known=KNOWN, base=draft(*base), most=most)


def entries(*steps):
    return tuple(Entry(at=at, step=one) for at, one in enumerate(steps))


def edges(mended):
    return {entry.step.id: entry.step.depends_on for entry in mended}


@pytest.mark.parametrize(
    ("written", "expected", "codes"),
    [
        pytest.param(
            step("a", tool_hint="search", model_hint="fast"), step("a", tool_hint="search", model_hint="fast"), [], id="right"
        ),
        pytest.param(step("a", tool_hint="serch"), step("a"), ["P008"], id="tool hint"),
        pytest.param(step("a", tool_hint=""), step("a"), ["P008"], id="empty tool hint"),
        pytest.param(step("a", model_hint="gpt"), step("a"), ["P009"], id="model hint"),
        pytest.param(step("a", tools=("search", "x")), step("a", tools=("search",)), ["P008"], id="grant"),
        pytest.param(step("a", tools=("x",)), step("a", tools=()), ["P008"], id="a grant never widens"),
        pytest.param(ToolStep(id="a", tool="search"), ToolStep(id="a", tool="search"), [], id="tool step"),
        pytest.param(ApprovalStep(id="a", question="?"), ApprovalStep(id="a", question="?"), [], id="approval"),
        pytest.param(
            ToolStep(id="a", tool="x", task="t", depends_on=("b",), timeout=3, in_doubt="fail"),
            Step(id="a", task="t", depends_on=("b",), timeout=3, in_doubt="fail"),
            ["P008"],
            id="tool step without its tool",
        ),
    ],
)
def test_names(written, expected, codes):
    """Names that the run doesn't know go."""
    mended, found = with_known_names(entries(written), ground())

    assert [expected] == [entry.step for entry in mended]
    assert codes == [one.code for one in found]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param([step("a"), step("b", "a", task=" "), step("c", "b")], {"a": (), "c": ("a",)}, id="bridged"),
        pytest.param(
            [step("a"), step("b", "a", task=""), step("c", "b", task=""), step("d", "c", "a")],
            {"a": (), "d": ("a",)},
            id="two in a row",
        ),
        pytest.param([step("a", "b", task=""), step("b", "a", task=""), step("c", "a")], {"c": ()}, id="a circle of them"),
        pytest.param([ToolStep(id="t", tool="search")], {"t": ()}, id="tool steps need no task"),
    ],
)
def test_empty(written, expected):
    """A step without a task goes, and its dependents wait for what it waited for."""
    mended, found = without_empty(entries(*written), ground())

    assert expected == edges(mended)
    assert ["P007"] * (len(written) - len(expected)) == [one.code for one in found]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param([step("a"), step("b")], {"a": (), "b": ()}, id="different"),
        pytest.param(
            [step("a", task="Do it"), step("b", task=" do  IT"), step("c", "b")], {"a": (), "c": ("a",)}, id="same words"
        ),
        pytest.param(
            [step("a", task="x"), step("b", "a", task="x"), step("c", "b", task="x")], {"a": ()}, id="a chain of the same"
        ),
        pytest.param(
            [step("a"), step("b"), step("c", "a", task="x"), step("d", "b", task="x")],
            {"a": (), "b": (), "c": ("a",), "d": ("b",)},
            id="of different things",
        ),
        pytest.param(
            [step("a", task="x"), step("b", task="x"), step("c", "a", task="y"), step("d", "b", task="y")],
            {"a": (), "c": ("a",)},
            id="of things that are the same",
        ),
        pytest.param([step("a", task="x"), step("b", task="x", tool_hint="search")], {"a": (), "b": ()}, id="other hint"),
        pytest.param(
            [ToolStep(id="a", tool="search"), ToolStep(id="b", tool="search")], {"a": (), "b": ()}, id="tool calls may repeat"
        ),
        pytest.param(
            [ApprovalStep(id="a", question="?"), ApprovalStep(id="b", question="?")], {"a": (), "b": ()}, id="so may questions"
        ),
    ],
)
def test_twins(written, expected):
    """Steps that do the same with the same become one."""
    mended, found = without_twins(entries(*written), ground())

    assert expected == edges(mended)
    assert ["P017"] * (len(written) - len(expected)) == [one.code for one in found]


def test_twins_in_references():
    """References to a step that went lead to the one that stayed."""
    written = entries(step("a", task="x"), step("b", task="x"), step("c", task="${steps.b.output} ${inputs.b}"))

    mended, _ = without_twins(written, ground())

    assert "${steps.a.output} ${inputs.b}" == mended[1].step.task


def test_twin_of_the_base():
    """A new step that repeats a finished one goes; finished ones never do."""
    mended, _ = without_twins(entries(step("n", task="do a"), step("m", "n")), ground(step("a"), step("b", task="do a")))

    assert {"m": ("a",)} == edges(mended)


@pytest.mark.parametrize(
    ("written", "most", "expected"),
    [
        pytest.param([step("a"), step("b")], 2, {"a": (), "b": ()}, id="enough room"),
        pytest.param([step("a"), step("b")], None, {"a": (), "b": ()}, id="no limit"),
        pytest.param([step("a"), step("b"), step("c")], 2, {"a": (), "b": ()}, id="the last goes"),
        pytest.param([step("a", "d"), step("b"), step("c"), step("d")], 2, {"b": (), "c": ()}, id="nothing is left hanging"),
    ],
)
def test_surplus(written, most, expected):
    """Steps beyond the limit go, and none of those that stay depends on them."""
    mended, found = without_surplus(entries(*written), ground(step("old"), most=most))

    assert expected == edges(mended)
    assert ["P016"] * (len(written) - len(expected)) == [one.code for one in found]
