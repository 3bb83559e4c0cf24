"""What a map or a plan is made of, and what its parts add up to. How they are walked: tests/orchestrator/test_walking.py."""

import pytest
from msgspec.structs import replace

from orchestrator.parts import gathered, parts_of
from orchestrator.sight import Sight
from planner import Draft, MapStep, Plan, PlanLimits, PlanStep, Step, ToolStep
from planner.references import Own
from planner.results import Failed, Skipped, StepResult, Succeeded
from registry.usage import Usage

INNER = Draft.model_validate(
    {
        "goal": "inside",
        "inputs": {"what": {}, "how": {"default": "well"}},
        "steps": [
            {"id": "one", "task": "do ${inputs.what} ${inputs.how}"},
            {"id": "two", "task": "and ${steps.one.output}", "when": "${steps.one.status} != 'skipped'"},
        ],
    }
)


def sight(*ends: StepResult) -> Sight:
    plan = Plan(goal="g", steps=[Step(id="x", task="x")])
    return Sight(plan=plan, inputs={"list": [1, 1]}, results={end.step: end for end in ends}, own=Own(values={}))


def good(step: str, **fields: object) -> Succeeded:
    return Succeeded(step=step, output=f"{step} did", usage=Usage(requests=1), **fields)


def test_the_items_of_a_map() -> None:
    """Each has its id, its value, the origins of the list, and a digest of its own which a name changes as little as a width."""
    listed = Succeeded(step="l", output="", data=["a", "b", "a"], origins=("tool:web",))
    step = MapStep(id="each", over="${steps.l.data}", step=Step(id="i", task="${item}"))
    found = parts_of(step, sight(listed), "digest")

    assert ["each[0]", "each[1]", "each[2]"] == [each.part.step.id for each in found]
    assert [{"item": item, "index": place} for place, item in enumerate("aba")] == [each.sight.own.values for each in found]
    assert {("tool:web",)} == {each.sight.own.origins for each in found}
    assert 3 == len({each.digest for each in found})
    again = parts_of(step.model_copy(update={"id": "other", "width": 1}), sight(listed), "digest")
    assert [each.digest for each in found] == [each.digest for each in again]
    assert not {each.digest for each in found} & {each.digest for each in parts_of(step, sight(listed), "another")}


def test_the_steps_of_a_plan() -> None:
    """They wait for each other under their full ids, see the inputs they are given, and know where those come from."""
    step = PlanStep(id="in", plan=INNER, args={"what": "${steps.l.output}"})
    one, two = parts_of(step, sight(Succeeded(step="l", output="it", origins=("tool:web",))), "digest")

    assert ("in/one", (), "in/two", ("in/one",)) == (one.part.step.id, one.part.needs, two.part.step.id, two.part.needs)
    assert frozenset({"in/one"}) == two.part.forgives
    assert {"what": "it", "how": "well"} == one.sight.inputs
    assert ("tool:web",) == one.sight.resolved("${inputs.what}").origins


def test_limits_hold_inside_too() -> None:
    """A plan inside a plan has the limits of the one around it where it sets none itself."""
    inner = INNER.model_copy(update={"limits": PlanLimits(timeout=5)})
    around = Plan(goal="g", steps=[Step(id="x", task="x")], limits=PlanLimits(timeout=60, max_calls=3))
    step = PlanStep(id="in", plan=inner, args={"what": 1})
    one, _ = parts_of(step, replace(sight(), plan=around), "digest")

    assert PlanLimits(timeout=5, max_calls=3) == one.sight.plan.limits


def test_a_map_adds_up() -> None:
    """Values in order, all that was spent, all origins; it took no time beside that of its items."""
    step = MapStep(id="each", over=[], step=Step(id="i", task="x"))
    found = gathered(step, sight(), [good("a", data={"n": 1}, origins=("tool:web",)), good("b", seconds=3.0)])

    assert isinstance(found, Succeeded)
    assert ([{"n": 1}, "b did"], '[{"n":1},"b did"]') == (found.data, found.output)
    assert (2, 0.0, ("tool:web",)) == (found.usage.requests, found.seconds, found.origins)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        pytest.param([good("one"), good("two")], "two did", id="the last"),
        pytest.param([good("one"), Skipped(step="two", because_of="two", reason="", untaken=True)], "one did", id="not taken"),
    ],
)
def test_a_plan_adds_up(ends: list[StepResult], expected: str) -> None:
    """What nobody inside it used is what it gives; a branch that was not taken is no failure."""
    found = gathered(PlanStep(id="in", plan=INNER, args={"what": 1}), sight(), ends)

    assert isinstance(found, Succeeded)
    assert expected == found.output


def test_an_output_that_was_not_done() -> None:
    """A plan whose output refers to a branch that was not taken gives what its last steps gave."""
    plan = INNER.model_copy(update={"output": "${steps.two.output}"})
    ends = [good("one"), Skipped(step="two", because_of="two", reason="", untaken=True)]

    assert "one did" == gathered(PlanStep(id="in", plan=plan, args={"what": 1}), sight(), ends).output


def test_a_plan_in_which_nothing_was_done_has_not_succeeded() -> None:
    """However well it was meant that every step is optional."""
    plan = Draft(goal="g", steps=[ToolStep(id="a", tool="t", optional=True)])
    found = gathered(PlanStep(id="in", plan=plan), sight(), [Failed(step="in/a", error="E", message="no")])

    assert isinstance(found, Failed)
    assert "no step succeeded" == found.message
