"""Ids that are mended, and what follows them."""

import pytest

from planner.check import Known
from planner.repair.entries import Entry, Ground
from planner.repair.naming import with_usable_ids, without_relisted
from tests.planner.drafts import draft, step


def ground(*base):
    return Ground(known=Known(), base=draft(*base), most=None)


def entries(*steps):
    return tuple(Entry(at=at, step=one) for at, one in enumerate(steps))


@pytest.mark.parametrize(
    ("written", "expected", "codes"),
    [
        pytest.param([step("a"), step("b", "a")], {"a": (), "b": ("a",)}, [], id="right"),
        pytest.param([step("find it!"), step("b", "find it!")], {"find-it": (), "b": ("find-it",)}, ["P002"], id="characters"),
        pytest.param(
            [step("", task="x"), step("??", task="y")], {"step-1": (), "step-2": ()}, ["P002", "P002"], id="nothing left"
        ),
        pytest.param([step("x" * 70), step("b", "x" * 70)], {"x" * 64: (), "b": ("x" * 64,)}, ["P002"], id="long"),
        pytest.param([step("a"), step("a"), step("b", "a")], {"a": (), "a-2": (), "b": ("a-2",)}, ["P003"], id="twice"),
        pytest.param([step("a"), step("b", "a"), step("a")], {"a": (), "b": ("a",), "a-2": ()}, ["P003"], id="the one before"),
        pytest.param([step("b", "a"), step("a"), step("a")], {"b": ("a",), "a": (), "a-2": ()}, ["P003"], id="the next one"),
        pytest.param([step("a"), step("a", "a")], {"a": (), "a-2": ("a",)}, ["P003"], id="a chain of one name"),
        pytest.param([step("a"), step("a-2"), step("a")], {"a": (), "a-2": (), "a-3": ()}, ["P003"], id="taken suffix"),
        pytest.param(
            [step("a b"), step("a-b"), step("c", "a b", "a-b")],
            {"a-b": (), "a-b-2": (), "c": ("a-b", "a-b-2")},
            ["P002", "P003"],
            id="a mended id that is taken",
        ),
        pytest.param([step("a-b"), step("c", "a b")], {"a-b": (), "c": ("a-b",)}, ["P005"], id="only the edge is misspelt"),
        pytest.param([step("t1"), step("t2", "t01")], {"t1": (), "t2": ("t01",)}, [], id="no guessing"),
    ],
)
def test_ids(written, expected, codes):
    """Ids become usable and unique; an edge leads to the step that it meant."""
    named, found = with_usable_ids(entries(*written), ground())

    assert expected == {entry.step.id: entry.step.depends_on for entry in named}
    assert codes == sorted(one.code for one in found)


def test_references_follow():
    """References are rewritten with the ids."""
    written = entries(step("a"), step("a"), step("b", task="${steps.a.output} ${steps.zz.output} ${inputs.a} $${steps.a.output}"))

    named, _ = with_usable_ids(written, ground())

    assert "${steps.a-2.output} ${steps.zz.output} ${inputs.a} $${steps.a.output}" == named[2].step.task


def test_long_twins():
    """A suffix never makes an id too long."""
    named, _ = with_usable_ids(entries(*(step("x" * 64, task=f"{i}") for i in range(12))), ground())

    assert 12 == len({entry.step.id for entry in named})
    assert {64} == {len(entry.step.id) for entry in named}


def test_base_keeps_its_ids():
    """A new step can't take the id of one that is there; who names the id afterwards means the new one."""
    named, found = with_usable_ids(entries(step("b", "a"), step("a", task="other"), step("c", "a")), ground(step("a")))

    assert {"b": ("a",), "a-2": (), "c": ("a-2",)} == {entry.step.id: entry.step.depends_on for entry in named}
    assert ["P003"] == [one.code for one in found]


@pytest.mark.parametrize(
    ("written", "left"),
    [
        pytest.param(step("a"), [], id="the same again"),
        pytest.param(step("a", task=" "), [], id="its id alone"),
        pytest.param(step("a", task="something else"), ["a"], id="another task"),
        pytest.param(step("b", task="do a"), ["b"], id="another id"),
    ],
)
def test_relisted(written, left):
    """A finished step that the answer lists again is not a new step."""
    kept, found = without_relisted(entries(written), ground(step("a")))

    assert left == [entry.step.id for entry in kept]
    assert len(found) == 1 - len(left)
