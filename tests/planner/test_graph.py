"""The graph of a plan."""

import pytest

from planner.graph import circles, graph, in_turn, knotted, leading_to, order, ranks, stand_in_turn
from planner.mentions import mentions
from tests.planner.drafts import step


def needs(steps):
    return {each.id: each.depends_on for each in steps}


def test_edges():
    """An edge leads from the dependency to the step that waits, also where only a reference says so."""
    found = graph([step("c", "a", task="see ${steps.b.output}"), step("a"), step("b", "a")])

    assert ["c", "a", "b"] == list(found)
    assert {("a", "c"), ("b", "c"), ("a", "b")} == set(found.edges)


def test_drafts():
    """In a draft, loops and edges to nowhere are left out, and of two steps of one name the first counts."""
    found = graph([step("a", "a", "zz"), step("b", "a"), step("a", "b")])

    assert [("a", "b")] == list(found.edges)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([step("a"), step("b"), step("c")], "abc", id="plan order"),
        pytest.param([step("c", "b"), step("b", "a"), step("a")], "abc", id="dependencies first"),
        pytest.param([step("d", "c"), step("a"), step("c"), step("b")], "acdb", id="as early as in the plan"),
    ],
)
def test_order(steps, expected):
    """Dependencies come first, otherwise the plan's order holds, whether or not a graph is made."""
    assert tuple(expected) == order(graph(steps)) == in_turn(needs(steps))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([step("a"), step("b", "a"), step("c", task="${steps.b.output}")], True, id="behind what they need"),
        pytest.param([step("b", "a"), step("a")], False, id="before it"),
        pytest.param([step("b", task="${steps.a.output}"), step("a")], False, id="before what they refer to"),
        pytest.param([step("a", "a")], False, id="itself"),
        pytest.param([step("a", "zz")], False, id="nobody"),
    ],
)
def test_steps_in_turn(steps, expected):
    """Where each step stands behind all that it waits for there are no circles to look for."""
    assert expected == stand_in_turn((each.id, mentions(each).needs) for each in steps)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([step("a")], {"a": 1}, id="alone"),
        pytest.param([step("a"), step("b", "a"), step("c", "b")], {"a": 3, "b": 2, "c": 1}, id="chain"),
        pytest.param(
            [step("a"), step("b", "a"), step("b2", "b"), step("c", "a"), step("d", "b2", "c")],
            {"a": 4, "b": 3, "b2": 2, "c": 2, "d": 1},
            id="diamond with unequal arms",
        ),
    ],
)
def test_ranks(steps, expected):
    """A step's rank is the length of the longest way from it to an end."""
    assert expected == ranks(needs(steps))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([step("a"), step("b", "a")], (), id="none"),
        pytest.param([step("a", "b"), step("b", "a")], (("a", "b", "a"),), id="two"),
        pytest.param([step("x", "a"), step("a", "c"), step("b", "a"), step("c", "b")], (("a", "c", "b", "a"),), id="three"),
        pytest.param(
            [step("a", "b"), step("b", "a"), step("c", "d"), step("d", "c")],
            (("a", "b", "a"), ("c", "d", "c")),
            id="two circles",
        ),
        pytest.param([step("a", task="${steps.b.output}"), step("b", "a")], (("a", "b", "a"),), id="by reference"),
    ],
)
def test_circles(steps, expected):
    """A circle is shown as a path in which each step waits for the next, from its first step in the plan back to it."""
    assert expected == circles(graph(steps))
    assert [set(circle) for circle in expected] == [set(knot) for knot in knotted(graph(steps))]


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([step(f"s{i}", *([f"s{i - 1}"] if i else [])) for i in range(10_000)], id="chain"),
        pytest.param([*(step(f"s{i}") for i in range(10_000)), step("all", *(f"s{i}" for i in range(10_000)))], id="fan-in"),
        pytest.param([step("one"), *(step(f"s{i}", "one") for i in range(10_000))], id="fan-out"),
    ],
)
def test_ten_thousand_steps(steps):
    """Depth and width don't matter: no recursion, nothing quadratic."""
    found = graph(steps)

    assert len(steps) == len(order(found)) == len(ranks(needs(steps)))
    assert () == circles(found)


def test_what_leads_to_steps() -> None:
    """They themselves and all that they wait for, however far, each once; nothing beside them."""
    found = needs([step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c"), step("e", "d"), step("f")])

    assert {"a", "b", "c", "d"} == leading_to(found, ["d", "b"])
    assert set() == leading_to(found, [])


def test_ranks_by_weight() -> None:
    """The longest way is that of the greatest weight, not of the most steps; what has no weight counts one."""
    found = ranks(needs([step("a"), step("b", "a"), step("c", "b"), step("d")]), {"d": 5.0, "b": 0.5})

    assert {"a": 2.5, "b": 1.5, "c": 1.0, "d": 5.0} == found
