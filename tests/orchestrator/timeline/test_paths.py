"""What waited for what, and what took the time."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.timeline.paths import Node, nodes, paths
from planner import Draft, Plan, Step
from planner.plan import MapStep, PlanStep
from tests.orchestrator.timeline.telling import plan


def test_the_longest_chain() -> None:
    """By seconds, not by the number of steps; slack is what each could have taken more."""
    found = paths(nodes([plan(a="", b="a", c="", d="bc")], []), {"a": 1.0, "b": 1.0, "c": 5.0, "d": 1.0})

    assert (("c", "d"), 6.0) == (found.longest, found.seconds)
    assert {"a": 3.0, "b": 3.0, "c": 0.0, "d": 0.0} == dict(found.slack)


def test_nothing_took_no_time() -> None:
    """A run without steps has no chain."""
    found = paths({}, {})

    assert ((), 0.0, {}) == (found.longest, found.seconds, found.slack)


def test_parts_stand_behind_their_whole() -> None:
    """A part waits for what the whole waited for, and the whole for its parts; items are those that were seen."""
    inside = PlanStep(
        id="p", depends_on=["a"], plan=Draft(goal="h", steps=[Step(id="x", task="x"), Step(id="y", task="y", depends_on=["x"])])
    )
    each = MapStep(id="m", depends_on=["p"], over="${steps.p.data}", step=Step(id="i", task="${item}"))
    made = Plan(goal="g", steps=[Step(id="a", task="a"), inside, each])

    assert {
        "a": Node(),
        "p": Node(("p/x", "p/y")),
        "p/x": Node(("a",), 1, "p"),
        "p/y": Node(("p/x",), 1, "p"),
        "m": Node(("m[0]", "m[2]")),
        "m[0]": Node(("p",), 1, "m"),
        "m[2]": Node(("p",), 1, "m"),
    } == nodes([made], {"a", "p", "p/x", "m", "m[2]", "m[0]"})


def test_plans_in_maps_and_maps_in_plans() -> None:
    """However deep."""
    inner = MapStep(id="m", over=[1], step=Step(id="i", task="i"))
    made = Plan(goal="g", steps=[MapStep(id="o", over=[1], step=PlanStep(id="p", plan=Draft(goal="h", steps=[inner])))])

    found = nodes([made], ["o", "o[0]", "o[0]/m", "o[0]/m[0]"])
    assert [("o", 0), ("o[0]", 1), ("o[0]/m", 2), ("o[0]/m[0]", 3)] == [(name, node.depth) for name, node in found.items()]


def test_a_later_plan_counts() -> None:
    """A step of several plans waits for what the last one says, and those that no plan has wait for nothing."""
    found = nodes([plan(a="", b="a"), plan(b="", c="b")], ["z"])

    assert {"a": (), "b": (), "c": ("b",), "z": ()} == {name: node.needs for name, node in found.items()}


@given(st.data())
def test_slack_is_what_can_be_added(data: st.DataObject) -> None:
    """With all its slack added to one step the whole takes as long as before; with more it takes longer."""
    count = data.draw(st.integers(1, 8))
    names = [f"s{number}" for number in range(count)]
    needs = {name: tuple(data.draw(st.sets(st.sampled_from(names[:at]))) if at else ()) for at, name in enumerate(names)}
    seconds = {name: float(data.draw(st.integers(0, 9))) for name in names}
    steps = {name: Node(before) for name, before in needs.items()}
    found = paths(steps, seconds)

    one = data.draw(st.sampled_from(names))
    assert found.seconds == paths(steps, seconds | {one: seconds[one] + found.slack[one]}).seconds
    assert found.seconds + 1 == paths(steps, seconds | {one: seconds[one] + found.slack[one] + 1}).seconds
    assert found.seconds == sum(seconds[name] for name in found.longest)
