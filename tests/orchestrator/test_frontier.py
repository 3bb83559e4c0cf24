"""Which steps may start, in which order, and what a result changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.frontier import Frontier, Part
from planner import Plan, Step
from planner.results import Failed, Skipped, StepResult, Succeeded


def plan(**needs: str) -> Plan:
    """A plan from step ids and what each needs; `!` before the needs gives the step another policy."""
    return Plan(goal="test", steps=[Step(id=name, task=name, depends_on=tuple(need)) for name, need in needs.items()])


def ok(step: str) -> Succeeded:
    return Succeeded(step=step, output=step)


def bad(step: str) -> Failed:
    return Failed(step=step, error="Boom", message="boom")


def taken(frontier: Frontier) -> list[str]:
    """Everything that may start now."""
    steps = []
    while (step := frontier.take()) is not None:
        steps.append(step.id)
    return steps


@pytest.mark.parametrize(
    ("needs", "first"),
    [
        pytest.param({"a": "", "b": "", "c": ""}, ["a", "b", "c"], id="plan order"),
        pytest.param({"a": "", "b": "", "c": "b"}, ["b", "a"], id="longest path first"),
        pytest.param({"a": "", "b": "a", "c": "b"}, ["a"], id="chain"),
        pytest.param({"c": "ab", "a": "", "b": ""}, ["a", "b"], id="written backwards"),
    ],
)
def test_ready_steps_leave_in_order(needs: dict[str, str], first: list[str]) -> None:
    """Ready steps leave by rank, then in plan order."""
    assert first == taken(Frontier(plan(**needs)))


def test_no_barrier() -> None:
    """A step is ready as soon as its own dependencies are done, whatever else still runs."""
    frontier = Frontier(plan(a="", b="", c="a"))
    taken(frontier)

    frontier.settle(ok("a"))

    assert ["c"] == taken(frontier)
    assert ("b", "c") == frontier.running


@pytest.mark.parametrize(
    ("needs", "failing", "skipped"),
    [
        pytest.param({"a": "", "b": "a"}, "a", ["b"], id="child"),
        pytest.param({"a": "", "b": "a", "c": "b"}, "a", ["b", "c"], id="grandchild"),
        pytest.param({"a": "", "b": ""}, "a", [], id="stranger"),
        pytest.param({"a": "", "b": "", "c": "ab", "d": "b"}, "a", ["c"], id="join"),
        pytest.param({"a": "", "b": "a", "c": "a", "d": "bc"}, "a", ["b", "c", "d"], id="diamond"),
    ],
)
def test_failure_skips_descendants(needs: dict[str, str], failing: str, skipped: list[str]) -> None:
    """A failed step skips what waits for it, however far, and nothing else."""
    frontier = Frontier(plan(**needs))
    taken(frontier)

    told = frontier.settle(bad(failing))

    assert skipped == [result.step for result in told]
    assert skipped == [result.step for result in frontier.results.values() if isinstance(result, Skipped)]
    assert {failing} >= {result.because_of for result in told}


@pytest.mark.parametrize(
    ("policy", "started", "skipped"),
    [
        pytest.param("skip_dependents", [], ["b"], id="skip_dependents"),
        pytest.param("continue", ["b"], [], id="continue"),
        pytest.param("stop", [], ["b", "d"], id="stop"),
    ],
)
def test_a_step_says_what_its_failure_does(policy: str, started: list[str], skipped: list[str]) -> None:
    """`on_failure` decides about dependents, and about everything that has not started."""
    steps = [
        Step(id="a", task="a", on_failure=policy),
        Step(id="b", task="b", depends_on="a"),
        Step(id="c", task="c"),
        Step(id="d", task="d", depends_on="c"),
    ]
    frontier = Frontier(Plan(goal="test", steps=steps))
    taken(frontier)

    told = frontier.settle(bad("a"))

    assert skipped == [result.step for result in told]
    assert started == taken(frontier)


def test_what_is_done_is_not_offered_again() -> None:
    """A walk that begins with results goes on behind them."""
    frontier = Frontier(plan(a="", b="a", c="b"), {"a": ok("a")})

    assert ["b"] == taken(frontier)


def test_a_known_failure_has_its_effect() -> None:
    """Results that are known from the start skip what they would have skipped."""
    frontier = Frontier(plan(a="", b="a"), {"a": bad("a")})

    assert [] == taken(frontier)
    assert isinstance(frontier.results["b"], Skipped)


def test_what_had_begun_is_not_stopped() -> None:
    """A step that ran when an earlier life ended starts again, though another has stopped the plan meanwhile."""
    steps = [Step(id=name, task=name, on_failure="stop") for name in "abc"]
    frontier = Frontier(Plan(goal="test", steps=steps), {"a": bad("a")}, begun=["a", "b"])

    assert ["b"] == taken(frontier)
    assert isinstance(frontier.results["c"], Skipped)


def test_a_plan_grows() -> None:
    """Steps may be added while a walk goes on; a new step waits for what has not settled, and only for that."""
    frontier = Frontier(plan(a="", b=""))
    taken(frontier)
    frontier.settle(ok("a"))

    frontier.extend(plan(a="", b="", c="a", d="b"))

    assert ["c"] == taken(frontier)


def test_a_growing_plan_learns_what_failed() -> None:
    """A step that is added behind a failed one can't run."""
    frontier = Frontier(plan(a=""))
    taken(frontier)
    frontier.settle(bad("a"))

    told = frontier.extend(plan(a="", b="a", c="b"))

    assert ["b", "c"] == [result.step for result in told]
    assert [] == taken(frontier)


def test_a_plan_does_not_shrink() -> None:
    """Present steps may be neither dropped nor moved."""
    with pytest.raises(ValueError, match="keeps its present steps"):
        Frontier(plan(a="", b="")).extend(plan(b="", a=""))


def test_stop_skips_what_has_not_started() -> None:
    """After a stop nothing new starts, and each step left says why."""
    frontier = Frontier(plan(a="", b="a"))
    taken(frontier)

    told = frontier.stop("user", "stopped by the user")

    assert [Skipped(step="b", because_of="user", reason="stopped by the user")] == list(told)


@given(st.data())
def test_every_walk_ends(data: st.DataObject) -> None:
    """Whatever the plan and whatever fails: each step settles once, and starts only after its dependencies."""
    size = data.draw(st.integers(1, 12))
    needs = {str(i): data.draw(st.lists(st.integers(0, i - 1), unique=True, max_size=3)) if i else [] for i in range(size)}
    policies = st.sampled_from(["skip_dependents", "continue", "stop"])
    steps = [
        Step(id=name, task="t", depends_on=tuple(str(n) for n in need), on_failure=data.draw(policies))
        for name, need in needs.items()
    ]
    frontier = Frontier(Plan(goal="g", steps=steps))
    running: list[str] = []
    started: list[str] = []
    while True:
        while (step := frontier.take()) is not None:
            assert all(str(need) in frontier.results for need in needs[step.id])
            running.append(step.id)
            started.append(step.id)
        if not running:
            break
        ending = running.pop(data.draw(st.integers(0, len(running) - 1)))
        result: StepResult = bad(ending) if data.draw(st.booleans()) else ok(ending)
        frontier.settle(result)

    assert set(needs) == set(frontier.results)
    assert len(started) == len(set(started))
    assert () == frontier.unsettled


def step(name: str, needs: str = "", **fields: object) -> Step:
    return Step(id=name, task=name, depends_on=tuple(needs), **fields)


def frontier_of(*steps: Step) -> Frontier:
    return Frontier(Plan(goal="test", steps=steps))


def untaken(name: str) -> Skipped:
    return Skipped(step=name, because_of=name, reason="it does not hold", untaken=True)


def parts(*names: str, **needs: str) -> list[Part]:
    return [Part(Step(id=name, task=name), tuple(needs.get(name, ""))) for name in (*names, *needs)]


@pytest.mark.parametrize(
    ("ends", "started", "skipped"),
    [
        pytest.param([untaken("a"), ok("b")], ["c"], {}, id="one was done"),
        pytest.param([ok("b"), untaken("a")], ["c"], {}, id="one was done before"),
        pytest.param([untaken("a"), untaken("b")], [], {"c": True, "d": True}, id="none was taken"),
        pytest.param([untaken("a"), bad("b")], [], {"c": False, "d": False}, id="one failed"),
        pytest.param([bad("b"), untaken("a")], [], {"c": False, "d": False}, id="one failed before"),
    ],
)
def test_a_join_of_branches(ends: list[StepResult], started: list[str], skipped: dict[str, bool]) -> None:
    """One parent that was done is enough where the others are on branches not taken; where all are, so is the join."""
    frontier = Frontier(plan(a="", b="", c="ab", d="c"))
    taken(frontier)
    told = [each for end in ends for each in frontier.settle(end)]

    assert started == taken(frontier)
    assert skipped == {each.step: each.untaken for each in told}


@pytest.mark.parametrize(
    ("optional", "because_of", "started"),
    [
        pytest.param(True, "a", ["b"], id="an optional step"),
        pytest.param(False, "a", [], id="another one"),
        pytest.param(True, "z", [], id="an optional step whose own dependency failed"),
    ],
)
def test_what_waits_for_a_step_that_is_left_out(optional: bool, because_of: str, started: list[str]) -> None:
    """An optional step may be left out for a reason of its own: nothing depends on it. That is no branch that was not taken."""
    frontier = frontier_of(Step(id="a", task="a", optional=optional), step("b", "a"))
    taken(frontier)
    skipped = frontier.settle(Skipped(step="a", because_of=because_of, reason="too dear"))

    assert started == taken(frontier)
    assert [False] * (not started) == [each.untaken for each in skipped]


@pytest.mark.parametrize("end", [ok("a"), bad("a"), untaken("a")], ids=["succeeded", "failed", "untaken"])
def test_a_look_at_the_status_forgives(end: StepResult) -> None:
    """Who asks how a step ended starts in any case; what only waits for it behaves as always."""
    frontier = frontier_of(step("a"), step("b", when="${steps.a.status} == 'failed'"), step("c", "a"))
    taken(frontier)
    frontier.settle(end)

    assert (["b", "c"] if isinstance(end, Succeeded) else ["b"]) == taken(frontier)


def test_what_is_skipped_may_be_looked_at_too() -> None:
    """The step behind a skipped one that asks for its status starts, and has the cause to read."""
    frontier = frontier_of(step("a"), step("b", "a"), step("c", when="${steps.b.status} == 'skipped'"))
    taken(frontier)

    assert ["b"] == [each.step for each in frontier.settle(bad("a"))]
    assert ["c"] == taken(frontier)


def test_a_step_that_consists_of_others() -> None:
    """Its parts leave as their own needs allow, before what comes after it; it leaves once more when they have settled."""
    frontier = Frontier(plan(a="", b="a", c=""))
    assert "a" == frontier.take().id
    frontier.expand("a", parts("x", y="x"))

    assert ["x", "c"] == taken(frontier)
    frontier.settle(ok("x"))
    assert ["y"] == taken(frontier)
    assert ("a", "c") == tuple(each for each in frontier.running if each in "abc")
    frontier.settle(bad("y"))
    assert ["a"] == taken(frontier)
    assert [ok("x"), bad("y")] == list(frontier.parts("a"))
    frontier.settle(ok("a"))
    assert ["b"] == taken(frontier)
    assert ["a"] == list(frontier.in_plan_order())


def test_a_step_that_consists_of_nothing() -> None:
    """Its turn comes again at once."""
    frontier = Frontier(plan(a=""))
    taken(frontier)
    frontier.expand("a", [])

    assert ["a"] == taken(frontier)
    assert () == frontier.parts("a")


def test_parts_that_are_known() -> None:
    """They are not offered, and their ends have their effect."""
    frontier = Frontier(plan(a=""))
    taken(frontier)
    told = frontier.expand("a", parts("v", w="v", x=""), done=[bad("v")])

    assert ["w"] == [each.step for each in told]
    assert ["x"] == taken(frontier)


def test_a_width_lets_so_many_parts_through() -> None:
    """One that waits for somebody gives its place to the next, and needs none to go on but where others have taken all."""
    frontier = Frontier(plan(a=""))
    taken(frontier)
    frontier.expand("a", parts(*"wxyz"), width=2)

    assert ["w", "x"] == taken(frontier)
    frontier.pause("w")
    assert ["y"] == taken(frontier)
    frontier.again("w")
    assert [] == taken(frontier)
    frontier.settle(ok("x"))
    assert ["z"] == taken(frontier)
    frontier.settle(ok("y"))
    assert ["w"] == taken(frontier)


def test_a_pause_inside_makes_room_all_the_way_up() -> None:
    """What waits deep inside an item keeps no other item from starting."""
    frontier = Frontier(plan(a=""))
    taken(frontier)
    frontier.expand("a", parts("x", "y"), width=1)
    assert ["x"] == taken(frontier)
    frontier.expand("x", parts("deep"))
    assert ["deep"] == taken(frontier)
    frontier.pause("deep")

    assert ["x", "a"] == list(frontier.around("deep"))
    assert ["y"] == taken(frontier)


def test_what_stops_inside_stops_nothing_outside() -> None:
    """A part that stops its plan is about the steps beside it, and what those consist of."""
    frontier = Frontier(plan(a="", b=""))
    taken(frontier)
    frontier.expand("a", [Part(Step(id="x", task="x", on_failure="stop")), *parts("y", z="y")])
    frontier.expand("b", parts("v", w="v"))
    assert ["y", "v", "x"] == taken(frontier)

    assert ["z"] == [each.step for each in frontier.settle(bad("x"))]
    frontier.settle(ok("v"))
    assert ["w"] == taken(frontier)


def test_the_longest_remaining_path_counts_seconds() -> None:
    """One step that takes long goes before a chain of short ones."""
    weights = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 3.5}

    assert ["d", "a"] == taken(Frontier(plan(a="", b="a", c="b", d=""), weights=weights))
    assert ["a", "d"] == taken(Frontier(plan(a="", b="a", c="b", d="")))


def test_what_grows_has_weights_too() -> None:
    """Steps that a plan grows by are weighed, and so are those that wait for them."""
    frontier = Frontier(plan(a="", b=""), weights={"a": 1.0, "b": 2.0})
    frontier.extend(plan(a="", b="", c="a"), weights={"c": 5.0})

    assert (6.0, 2.0, 5.0) == tuple(frontier.rank(name) for name in "abc")
    assert ["a", "b"] == taken(frontier)


def test_parts_are_as_urgent_as_what_waits_for_their_whole() -> None:
    """Behind each part comes what comes behind the step that it is a part of, whatever that was thought to take itself."""
    frontier = Frontier(plan(a="", b="a", c=""), weights={"a": 100.0, "b": 4.0, "c": 6.0})
    assert "a" == frontier.take().id

    frontier.expand(
        "a", [Part(Step(id="a/x", task="x")), Part(Step(id="a/y", task="y"), ("a/x",))], weights={"a/x": 1.0, "a/y": 2.0}
    )

    assert (7.0, 6.0, 6.0) == tuple(frontier.rank(name) for name in ("a/x", "a/y", "c"))
    assert ["a/x", "c"] == taken(frontier)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(ok("a"), id="done"),
        pytest.param(bad("a"), id="failed"),
        pytest.param(Skipped(step="a", because_of="a", reason="", untaken=True), id="not taken"),
    ],
)
def test_who_does_the_same_comes_after(end: StepResult) -> None:
    """It has its turn when the other has ended, in whatever way, and not before what it waits for itself."""
    frontier = Frontier(plan(x="", a="", b="x"), fellows={"b": "a"})

    assert ["x", "a"] == taken(frontier)
    frontier.settle(ok("x"))
    assert [] == taken(frontier)
    frontier.settle(end)
    assert ["b"] == taken(frontier)


def test_who_does_the_same_inside() -> None:
    """A part may come after another one as well, and is stopped like any other that has not had its turn."""
    frontier = Frontier(plan(p=""))
    taken(frontier)
    frontier.expand("p", [Part(Step(id="p/a", task="t")), Part(Step(id="p/b", task="t")).after("p/a")])

    assert ["p/a"] == taken(frontier)
    assert ["p/b"] == [skip.step for skip in frontier.stop("p", "stopped")]


def test_a_plan_grows_by_who_does_the_same() -> None:
    """What comes later may be the same as what is there, done or not."""
    frontier = Frontier(plan(a=""))
    taken(frontier)
    frontier.settle(ok("a"))
    frontier.extend(plan(a="", b="", c=""), {"b": "a", "c": "b"})

    assert ["b"] == taken(frontier)
