"""Content digests of steps."""

import subprocess
import sys

import pytest

from planner.identity import fellows, item_digests, nested_digests, step_digests
from planner.plan import ApprovalStep, Input, MapStep, Plan, PlanStep, Step, ToolStep
from tests.planner.drafts import plan, step

BASE = plan(step("a"), step("b", "a", task="see ${steps.a.output}"))


def digests(*steps, given=None, **fields):
    return list(step_digests(plan(*steps, **fields), given or {}).values())


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([step("x", task="do a"), step("y", "x", task="see ${steps.x.output}")], id="other ids"),
        pytest.param([step("x", task="do a", timeout=3), step("b", task="see ${steps.x.output}")], id="limits, implied edge"),
        pytest.param(
            [step("a", accept=("exhausted",), max_iterations=3, on_failure="stop", in_doubt="retry"), BASE.steps[1]],
            id="policies",
        ),
    ],
)
def test_same_work(steps):
    """Ids and limits are not part of a step's digest, and a renamed dependency is the same dependency."""
    assert list(step_digests(BASE, {}).values()) == digests(*steps)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([step("a"), step("b", "a", task="look at ${steps.a.output}")], id="task"),
        pytest.param([step("a", task="do A"), BASE.steps[1]], id="task of a dependency"),
        pytest.param([step("a", tool_hint="t"), BASE.steps[1]], id="tool hint of a dependency"),
        pytest.param([step("a"), step("b", "a", task="see ${steps.a.output}", model_hint="m")], id="model hint"),
        pytest.param([step("a"), step("b", "a", task="see ${steps.a.output}", tools=("t",))], id="tools"),
        pytest.param([step("a"), step("c"), step("b", "a", "c", task="see ${steps.a.output}")], id="one dependency more"),
        pytest.param([step("a"), step("b", "a", task="see $${steps.a.output}")], id="escaped reference"),
        pytest.param([step("a"), ToolStep(id="b", task="see ${steps.a.output}", tool="t", depends_on=("a",))], id="kind"),
    ],
)
def test_other_work(steps):
    """Whatever changes what a step does, or what any step before it does, changes its digest."""
    assert step_digests(BASE, {})["b"] not in digests(*steps)


def test_questions():
    """What a person is asked counts, with all that it refers to."""
    one, same, other, refers = (
        digests(step("a", task=task), ApprovalStep(id=name, question=question, depends_on="a"))[1]
        for name, task, question in (
            ("b", "t", "Send ${steps.a.output}?"),
            ("c", "t", "Send ${steps.a.output}?"),
            ("b", "t", "Sell ${steps.a.output}?"),
            ("b", "u", "Send ${steps.a.output}?"),
        )
    )

    assert one == same
    assert 3 == len({one, other, refers})


def test_arguments():
    """Arguments count, in any order of their keys."""
    one, same, other = (
        digests(ToolStep(id="t", tool="x", args=args), inputs={"i": Input()}, given={"i": "v"})
        for args in ({"a": 1, "b": "${inputs.i}"}, {"b": "${inputs.i}", "a": 1}, {"a": 1, "b": "${inputs.i}!"})
    )

    assert one == same
    assert one != other


def test_inputs():
    """The value of an input counts where it is referred to, its name doesn't, and a default is a value."""
    by_name = {"i": Input(default=1), "k": Input(default=2)}
    asks, other = step("a", task="use ${inputs.i}"), step("b", task="use none")

    before = digests(asks, other, inputs=by_name)

    assert before == digests(asks, other, inputs=by_name, given={"i": 1, "k": 3})
    assert before == digests(step("a", task="use ${inputs.k}"), other, inputs=by_name, given={"k": 1})
    changed = digests(asks, other, inputs=by_name, given={"i": 2})
    assert before[0] != changed[0]
    assert before[1] == changed[1]


def test_twins():
    """Equal steps of one plan get numbers in plan order, and so does what waits for either; each has the first for a fellow."""
    found = step_digests(
        plan(
            step("z", "y", task="end"), step("y", task="t"), step("x", task="t"), step("w", "x", task="end"), step("v", task="v")
        ),
        {},
    )

    assert ["z", "y", "x", "w", "v"] == list(found)
    assert found["y"] + "#2" == found["x"]
    assert found["z"] + "#2" == found["w"]
    assert {"x": "y", "w": "z"} == fellows(found)


@pytest.mark.parametrize(
    "asking",
    [
        pytest.param(lambda name: ApprovalStep(id=name, question="Go on?"), id="approval"),
        pytest.param(lambda name: MapStep(id=name, over=[1], step={"kind": "approval", "question": "${item}?"}), id="map"),
        pytest.param(
            lambda name: PlanStep(id=name, plan={"goal": "g", "steps": [{"id": "a", "kind": "approval", "question": "?"}]}),
            id="plan",
        ),
    ],
)
def test_who_asks_a_person_has_no_twin(asking):
    """A word is given once for each question, so what waits for one is not the same as what waits for another."""
    steps = [asking("a"), asking("b"), step("c", "a", task="post"), step("d", "b", task="post"), step("e", "a", task="post")]
    found = step_digests(plan(*steps), {})

    assert 4 == len({each.split("#")[0] for each in found.values()})
    assert {"e": "c"} == fellows(found)
    assert found == step_digests(plan(*steps), {})


def test_twins_inside():
    """The steps of a plan inside a plan have their fellows there; what is done with equal items is done for each."""
    inner = plan(step("a", task="t"), step("b", task="t"), step("c", "b", task="u"))
    found = nested_digests("parent", inner, {})

    assert {"b": "a"} == fellows(found)
    assert found["a"] + "#2" == found["b"]
    assert not set(found.values()) & set(nested_digests("other", inner, {}).values())


@pytest.mark.real_clock
def test_other_process():
    """Another process computes the same digests."""
    code = (
        "from planner import Plan, Step; from planner.identity import step_digests;"
        "print(step_digests(Plan(goal='g', steps=(Step(id='q', task='do a'),)), {})['q'])"
    )
    ran = subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": "3"}, capture_output=True, text=True, check=True)

    assert step_digests(BASE, {})["a"] == ran.stdout.strip()


def test_digests_stay_as_they_are():
    """A run of today's journal finds its finished steps in tomorrow's version. Whoever changes a digest raises its schema."""
    steps = (
        Step(id="a", task="Look at ${inputs.city}", model_hint="fast", tools=("search",)),
        ToolStep(id="b", tool="count", args={"n": "${steps.a.output}"}),
        ApprovalStep(id="c", question="Go on?", depends_on=("b",)),
    )

    assert {
        "a": "4a59f99cfb3e30f641a689a5eb302eb0",
        "b": "f091c1a9e2456c9f9ef25b892839c413",
        "c": "2cb47a273774f3fe6b6c6c904cb6d595",
    } == step_digests(Plan(goal="g", inputs={"city": Input(default="Oslo")}, steps=steps), {})


EVERY_KIND = {
    "goal": "g",
    "inputs": {"city": {"default": "Malmö"}, "most": {"type": "integer"}},
    "steps": [
        {"id": "a", "task": "See ${inputs.city}, not $${inputs.city}", "tools": ["x", "y"], "output_schema": {"type": "object"}},
        {
            "id": "again",
            "task": "See ${inputs.city}, not $${inputs.city}",
            "tools": ["x", "y"],
            "output_schema": {"type": "object"},
        },
        {"id": "b", "kind": "tool", "tool": "t", "args": {"ü": [1.5, None, {"${k}": "${steps.a.data.n[0]}"}], "n": 2**70}},
        {"id": "c", "kind": "tool", "tool": "t", "when": "${steps.a.data.n} > ${inputs.most}", "retries": 2, "timeout": 3},
        {"id": "d", "kind": "approval", "question": "Is ${steps.b.output} right?", "depends_on": ["c"]},
        {
            "id": "e",
            "kind": "map",
            "over": [1, "${inputs.most}"],
            "step": {"task": "Add ${item} to ${steps.b.output}"},
            "width": 2,
        },
        {
            "id": "f",
            "kind": "plan",
            "args": {"from": "${steps.d.output}"},
            "plan": {
                "goal": "inside",
                "inputs": {"from": {}, "way": {"default": 1}},
                "steps": [
                    {"id": "x", "task": "Read ${inputs.from}"},
                    {"id": "y", "task": "Tell ${steps.x.output}", "optional": True},
                ],
                "output": "${steps.x.output}",
            },
        },
        {"id": "h", "task": "Judge", "escalate": ["m", "n"], "verify": {"tool": "v", "args": {"o": "${output}"}}, "needs": ["e"]},
        {"id": "i", "task": "Judge", "verify": {"judge": "Good?"}, "accept": ["empty"], "needs": ["f", "e"]},
    ],
}


def test_digests_of_every_kind_stay_as_they_are():
    """So it is with references, escapes, values of every type, checks, and what has its default or is said again."""
    assert {
        "a": "43fd19b83b858a73dd6570ee64419dd9",
        "again": "43fd19b83b858a73dd6570ee64419dd9#2",
        "b": "bd1e0d5dbf05cfec8cb4a1efb076b1eb",
        "c": "256faf76fa4660727a74c51ef7b7cbac",
        "d": "15f45a59f1e5d9ec2d91c3b8c14da749",
        "e": "8c896b7f86b9171ced9522b1ca8ba046",
        "f": "5156be769bfb08971749fea2735ed17e",
        "h": "257c41bce3b914d0751de339c3f672cf",
        "i": "c93e7c04e36e160267b4487d85b7acad",
    } == step_digests(Plan.model_validate(EVERY_KIND), {"most": 3})


def mapped(**fields):
    inner = {"task": "greet ${item} with ${steps.a.output}", **fields.pop("inner", {})}
    return MapStep(**{"id": "m", "over": "${steps.a.data}", "step": inner, **fields})


def nested(**fields):
    steps = fields.pop("steps", [{"id": "x", "task": "look at ${inputs.i}"}, {"id": "y", "task": "and ${steps.x.output}"}])
    inner = {"goal": "g", "inputs": {"i": {}}, "steps": steps, **fields.pop("inner", {})}
    return PlanStep(**{"id": "p", "args": {"i": "${steps.a.output}"}, "plan": inner, **fields})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(mapped(), mapped(id="n", width=3, optional=True, estimate={"calls": 3}), True, id="map: limits"),
        pytest.param(mapped(), mapped(inner={"id": "other", "timeout": 3, "retries": 2}), True, id="map: limits inside"),
        pytest.param(mapped(), mapped(inner={"task": "greet ${item}, and ${steps.a.output}"}), False, id="map: task"),
        pytest.param(mapped(), mapped(on_item_failure="skip"), False, id="map: what an item does"),
        pytest.param(mapped(), mapped(when="${steps.a.status} == 'succeeded'"), False, id="condition"),
        pytest.param(step("b", "a"), step("b", "a", max_calls=3, retries=1), True, id="agent: policies"),
        pytest.param(step("b", "a"), step("b", "a", escalate=("fast",)), False, id="agent: models"),
        pytest.param(step("b", "a"), step("b", "a", verify={"judge": "?"}), False, id="check"),
        pytest.param(step("b", "a"), step("b", "a", output_schema={}), False, id="schema"),
        pytest.param(
            nested(),
            nested(id="q", steps=[{"id": "v", "task": "look at ${inputs.i}"}, {"id": "w", "task": "and ${steps.v.output}"}]),
            True,
            id="plan: ids inside",
        ),
        pytest.param(nested(), nested(steps=[{"id": "x", "task": "look at ${inputs.i}!"}]), False, id="plan: steps"),
        pytest.param(nested(), nested(inner={"output": "${steps.x.output}"}), False, id="plan: output"),
        pytest.param(nested(), nested(inner={"limits": {"timeout": 3}}), True, id="plan: limits"),
        pytest.param(nested(), nested(args={"i": "${steps.a.output}!"}), False, id="plan: arguments"),
        pytest.param(nested(), nested(inner={"goal": "other"}), False, id="plan: goal"),
        pytest.param(
            nested(steps=[{"id": "x", "task": "t"}]),
            nested(steps=[{"id": "x", "task": "t", "optional": True}]),
            False,
            id="plan: what failures inside do",
        ),
    ],
)
def test_what_consists_of_others(one, other, same):
    """What is inside counts as what it does, and not by its names and limits."""
    first, second = (digests(step("a", output_schema={}), each)[1] for each in (one, other))

    assert same is (first == second)


def test_parts_are_told_apart_by_what_they_are_part_of():
    """Items by their values and their number among equals, the steps of a plan by what they do with what they are given."""
    items = item_digests("parent", ["a", 1, "a", "1"])
    built = plan(*nested().plan.steps, inputs={"i": Input()})

    assert 4 == len(set(items))
    assert items[0] + "#2" == items[2]
    assert not set(items) & set(item_digests("other", ["a", 1, "a", "1"]))
    assert nested_digests("parent", built, {"i": 1}) == nested_digests("parent", built, {"i": 1})
    assert 6 == len(
        {
            each
            for parent, i in (("parent", 1), ("parent", 2), ("other", 1))
            for each in nested_digests(parent, built, {"i": i}).values()
        }
    )
