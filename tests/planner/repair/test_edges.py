"""Dependencies, references and circles, mended."""

import pytest

from planner.check import Known
from planner.plan import Input
from planner.repair.edges import without_circles, without_loose_edges, without_loose_references, without_unpromised
from planner.repair.entries import Entry, Ground
from tests.planner.drafts import draft, step


def ground(*base, **fields):
    return Ground(known=Known(), base=draft(*base, **fields), most=None)


def entries(*steps):
    return tuple(Entry(at=at, step=one) for at, one in enumerate(steps))


def test_loose_edges():
    """Edges to oneself and to nowhere go; those to steps of the base stay."""
    tied, found = without_loose_edges(entries(step("a", "a", "zz", "old", "b"), step("b")), ground(step("old")))

    assert ("old", "b") == tied[0].step.depends_on
    assert [("P004", "/steps/0/depends_on/0"), ("P005", "/steps/0/depends_on/1")] == [(one.code, one.place) for one in found]


def test_a_step_that_was_split():
    """Who waited for it waits for all its parts, in plan order; a longer name is not that of a part."""
    parts = (step("c-2"), step("c-1"), step("c-first"), step("c_b"))
    *_, tied = without_loose_edges(entries(*parts, step("d", "c")), ground())[0]

    assert ("c-2", "c-1", "c_b") == tied.step.depends_on


@pytest.mark.parametrize(
    ("task", "expected", "count"),
    [
        pytest.param("${steps.b.output} ${inputs.i}", "${steps.b.output} ${inputs.i}", 0, id="right"),
        pytest.param("echo ${HOME}", "echo $${HOME}", 1, id="unreadable"),
        pytest.param("${steps.zz.output}", "$${steps.zz.output}", 1, id="unknown step"),
        pytest.param("${steps.a.output}", "$${steps.a.output}", 1, id="itself"),
        pytest.param("${inputs.zz} $${x}", "$${inputs.zz} $${x}", 1, id="unknown input beside an escape"),
        pytest.param("$${${x}", "$${$${x}", 1, id="behind an escape"),
    ],
)
def test_loose_references(task, expected, count):
    """What looks like a reference and is none becomes the text that it is."""
    mended, found = without_loose_references(entries(step("a", task=task), step("b")), ground(inputs={"i": Input()}))

    assert expected == mended[0].step.task
    assert ["P010"] * count == [one.code for one in found]


@pytest.mark.parametrize(
    ("task", "expected", "count"),
    [
        pytest.param("${steps.old.data.x} ${steps.b.output}", "${steps.old.data.x} ${steps.b.output}", 0, id="promised"),
        pytest.param("${steps.old.data.y}", "${steps.old.output}", 1, id="another part"),
        pytest.param("see ${steps.b.data.x[0]}", "see ${steps.b.output}", 1, id="of plain text"),
        pytest.param("${inputs.i.x}", "${inputs.i}", 1, id="of an input"),
    ],
)
def test_unpromised(task, expected, count):
    """Who reads a part that nobody promised reads all of it."""
    old = step("old", output_schema={"type": "object", "properties": {"x": {}}})
    mended, found = without_unpromised(entries(step("a", task=task), step("b")), ground(old, inputs={"i": Input()}))

    assert expected == mended[0].step.task
    assert ["P018"] * count == [one.code for one in found]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param([step("a"), step("b", "a")], {"a": (), "b": ("a",)}, id="none"),
        pytest.param([step("a", "b"), step("b", "a")], {"a": ("b",), "b": ()}, id="the last edge goes"),
        pytest.param(
            [step("a", "c"), step("b", "a"), step("c", "b")], {"a": ("c",), "b": ("a",), "c": ()}, id="three, one edge goes"
        ),
        pytest.param(
            [step("a", "b", "c"), step("b", "a", "c"), step("c", "a", "b")],
            {"a": ("b", "c"), "b": ("c",), "c": ()},
            id="all with all",
        ),
        pytest.param(
            [step("a", "b"), step("b", "a"), step("c", "d", "a"), step("d", "c")],
            {"a": ("b",), "b": (), "c": ("d", "a"), "d": ()},
            id="two circles",
        ),
    ],
)
def test_circles(written, expected):
    """In plan order, an edge that would close a circle goes, and no other."""
    opened, found = without_circles(entries(*written), ground())

    assert expected == {entry.step.id: entry.step.depends_on for entry in opened}
    lost = sum(len(one.depends_on) for one in written) - sum(len(edges) for edges in expected.values())
    assert ["P006"] * lost == [one.code for one in found]


def test_circle_by_reference():
    """Where a reference closes the circle, it becomes text."""
    opened, _ = without_circles(
        entries(step("a", "b"), step("b", task="${steps.a.output} ${steps.c.output}"), step("c")), ground()
    )

    assert "$${steps.a.output} ${steps.c.output}" == opened[1].step.task
    assert ("b",) == opened[0].step.depends_on
