"""Plans can't be built wrong, and mean the same in every notation."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from planner.check import Known, check
from planner.errors import PlanError
from planner.files import draft_from, plain_plan, read_plan, write_plan
from planner.plan import ApprovalStep, Draft, Input, Plan, PlanLimits, Step, ToolStep
from planner.plan.plan import plain_draft
from registry.budget import Amounts
from tests.planner.drafts import draft, drafts, plan, step


@pytest.mark.parametrize(
    ("written", "ids", "edges"),
    [
        pytest.param([{"id": 1, "task": "x"}, {"id": 2, "task": "y", "depends_on": ["1"]}], ["1", "2"], ["1"], id="numbers"),
        pytest.param([{"id": "a", "task": "x"}, {"id": "b", "task": "y", "depends_on": "a"}], ["a", "b"], ["a"], id="text"),
        pytest.param([{"id": "a", "task": "x"}, {"id": "b", "task": "y", "needs": ["a"]}], ["a", "b"], ["a"], id="needs"),
        pytest.param(
            [{"id": "a", "task": "x"}, {"id": "b", "task": "y", "dependencies": ["a", "a"]}], ["a", "b"], ["a"], id="twice"
        ),
        pytest.param([{"id": 1, "task": "x"}, {"id": 2, "task": "y", "depends_on": 1}], ["1", "2"], ["1"], id="number alone"),
        pytest.param([{"id": "a", "task": "x"}, {"id": "b", "task": "y", "depends_on": None}], ["a", "b"], [], id="null"),
    ],
)
def test_lossless_normalisation(written, ids, edges):
    """Ids become text, a lone dependency a list, and the other names of depends_on are accepted."""
    found = Plan.model_validate({"goal": "g", "steps": written})

    assert ids == [one.id for one in found.steps]
    assert edges == list(found.steps[1].depends_on)


def test_implied_edges():
    """A reference adds its edge, behind those that are written."""
    found = plan(step("a"), step("b"), step("c", "b", task="${steps.a.output} ${steps.b.output}"))

    assert ("b", "a") == found.step("c").depends_on


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda: Plan(goal="g", steps=(step("a", "a"),)), id="constructor"),
        pytest.param(lambda: Plan.of(draft(step("a", "zz"))), id="draft"),
        pytest.param(lambda: Plan.model_validate({"goal": "g", "steps": []}), id="JSON"),
        pytest.param(lambda: plan(step("a")).model_copy(update={"steps": (step("a"), step("a"))}), id="copy"),
    ],
)
def test_no_invalid_plan(wrong):
    """There is no way to a plan with structural errors."""
    with pytest.raises(PlanError):
        wrong()


def test_step():
    """A step is found by its id, also in a changed copy."""
    before = plan(step("a"), step("b"))

    after = before.model_copy(update={"steps": (step("a", task="new"),)})

    assert "do a" == before.step("a").task
    assert "new" == after.step("a").task
    with pytest.raises(KeyError):
        after.step("b")


@pytest.mark.parametrize(
    ("written", "required"),
    [
        pytest.param({}, True, id="no default"),
        pytest.param({"default": None}, False, id="null is a default"),
        pytest.param({"default": "x"}, False, id="default"),
        pytest.param({"required": False}, False, id="optional"),
    ],
)
def test_inputs(written, required):
    """An input is required unless it has a default or says otherwise; dumping and loading keeps that."""
    asked = Input.model_validate(written)

    assert required == asked.required
    assert asked == Input.model_validate(asked.model_dump(mode="json"))


def test_values():
    """The values of inputs are what was given over the defaults; what the plan doesn't ask for is left out."""
    asks = draft(inputs={"a": Input(default=1), "b": Input(default=2), "c": Input(required=False)})

    assert {"a": 5, "b": 2, "c": None} == asks.values({"a": 5, "zz": 9})


def test_limits():
    """Those of a whole plan are its own; a plan inside takes over only what holds for each step."""
    outer = PlanLimits(timeout=5.0, max_calls=3, max_requests=9, max_cost="0.50")
    inner = PlanLimits(max_calls=1, max_tokens=100)

    assert Amounts(requests=9, cost=Decimal("0.5")) == outer.budget
    assert PlanLimits(timeout=5.0, max_calls=1, max_tokens=100) == inner.within(outer)
    assert {"max_calls": 1, "max_tokens": 100} == plain_draft(draft(limits=inner))["limits"]


@pytest.mark.parametrize("limits", [{"max_requests": 0}, {"max_tokens": -1}, {"max_cost": -0.5}, {"max_seconds": 0}])
def test_what_is_no_limit(limits):
    """A plan that may take nothing can't be done."""
    with pytest.raises(ValidationError):
        PlanLimits(**limits)


def test_round_trip():
    """A plan dumped to JSON is the same plan when loaded."""
    before = plan(
        step("a", tools=("t",), accept=("exhausted",), timeout=5.0),
        ToolStep(id="b", tool="t", args={"q": ["${inputs.i}", {"n": 1}]}, on_failure="continue", in_doubt="probe"),
        ApprovalStep(id="c", question="Is ${steps.b.output} right?", on_failure="stop"),
        inputs={"i": Input(type="integer"), "k": Input(default=None)},
        output="${steps.b.output}",
    )

    assert before == Plan.model_validate_json(before.model_dump_json())


def test_an_approval_waits_for_what_it_asks_about():
    """References in its question are edges, it names no tool and no model, and its question says what it is for."""
    found = plan(step("a"), ApprovalStep(id="ok", question="Send ${steps.a.output}?"), step("b", "ok")).step("ok")

    assert ("a",) == found.depends_on
    assert ([], []) == (list(found.tool_names()), list(found.model_names()))
    assert "Send ${steps.a.output}?" == found.about
    assert "the last look" == ApprovalStep(id="x", task="the last look", question="Fine?").about


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        pytest.param(lambda: ToolStep(id="a", tool="t", args={"client": object()}), "args.client is a object", id="argument"),
        pytest.param(lambda: ToolStep(id="a", tool="t", args={"n": [float("nan")]}), "args.n[0] is nan", id="number"),
        pytest.param(lambda: Input(default={1, 2}), "default is a set", id="default"),
    ],
)
def test_a_plan_holds_nothing_that_cannot_be_stored(wrong, found):
    """It is refused where it is put in, by its place, and not when the plan is written down."""
    with pytest.raises(ValidationError) as raised:
        wrong()

    assert found in str(raised.value)


def test_names():
    """A step tells which tools and models it names, and where."""
    agent = Step(id="a", task="x", tools=("t", "u"), tool_hint="v", model_hint="m")

    assert [("/tools/0", "t"), ("/tools/1", "u"), ("/tool_hint", "v")] == list(agent.tool_names())
    assert [("/model_hint", "m")] == list(agent.model_names())
    assert [("/tool", "t")] == list(ToolStep(id="b", tool="t").tool_names())
    assert [] == list(ToolStep(id="b", tool="t").model_names())


@settings(max_examples=300, deadline=None)
@given(drafts)
def test_random_drafts(random: Draft):
    """The checker takes any draft, and what it passes can be built, and nothing else can."""
    errors = check(random, Known(tools=frozenset({"search", "serch", ""}), hints=frozenset({"search", "serch", "fast", ""})))

    if errors:
        with pytest.raises(PlanError):
            Plan.of(random)
    else:
        assert len(random.steps) == len(Plan.of(random).steps)


MAPPED = {
    "id": "each",
    "kind": "map",
    "over": "${steps.list.data}",
    "width": 3,
    "on_item_failure": "skip",
    "when": "${inputs.i} > 1",
    "step": {
        "kind": "plan",
        "args": {"it": "${item.name}"},
        "plan": {
            "goal": "one of them",
            "inputs": {"it": {"type": "string"}},
            "steps": [
                {"id": "look", "task": "look at ${inputs.it}", "retries": 2, "verify": {"judge": "Is it good?"}},
                {"id": "send", "kind": "tool", "tool": "send", "args": {"it": "${steps.look.output}"}, "optional": True},
            ],
            "output": "${steps.look.output}",
        },
    },
}
"""A step of each kind inside another."""

NESTED = {
    "goal": "g",
    "inputs": {"i": {"type": "integer", "default": 2}},
    "steps": [
        {
            "id": "list",
            "task": "list them",
            "escalate": ["fast", "general"],
            "output_schema": {"type": "array"},
            "max_calls": 2,
            "estimate": {"calls": 3},
        },
        MAPPED,
    ],
    "limits": {"timeout": 60, "max_calls": 5},
}


def test_everything_is_one_thing_in_every_notation() -> None:
    """Python, JSON and YAML: maps, plans inside plans, conditions, checks and policies make the same plan."""
    written = Plan.of(draft_from(NESTED))
    (looked, sent), each = written.steps[1].step.plan.steps, written.steps[1]

    assert written == Plan.model_validate_json(written.model_dump_json())
    assert written == Plan.of(read_plan(write_plan(written), name="plan.yaml"))
    assert written == Plan.of(draft_from(plain_plan(written)))
    assert ("list",) == each.depends_on
    assert ("look",) == sent.depends_on
    assert isinstance(each.step.plan, Plan)
    assert 2 == looked.retries
    assert ["/step/plan/steps/1/tool"] == [place for place, _ in each.tool_names()]


def test_what_is_inside_is_written_short() -> None:
    """What has its default is left out at every level, and every kind is named."""
    inner = plain_plan(Plan.of(draft_from(NESTED)))["steps"][1]["step"]

    assert MAPPED["step"]["plan"]["steps"][0] == inner["plan"]["steps"][0]
    assert ("plan", "tool") == (inner["kind"], inner["plan"]["steps"][1]["kind"])


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        pytest.param({"over": 3}, "P027", "/steps/1/over", id="no list"),
        pytest.param({"over": "all of ${steps.list.data}"}, "P027", "/steps/1/over", id="a reference and more"),
        pytest.param({"over": "${steps.zz.data}"}, "P010", "/steps/1/over", id="no such step"),
        pytest.param({"step": {"task": "x", "depends_on": ["list"]}}, "P005", "/steps/1/step/depends_on", id="depends"),
        pytest.param({"step": {"task": ""}}, "P007", "/steps/1/step/task", id="no task"),
        pytest.param({"step": {"task": "x", "when": "1 +"}}, "P026", "/steps/1/step/when", id="condition"),
        pytest.param({"step": {"task": "${steps.zz.output}"}}, "P010", "/steps/1/step/task", id="reference"),
        pytest.param(
            {"step": {"kind": "plan", "plan": {"goal": "g", "steps": [{"id": "a", "task": "${item}"}]}}},
            "P010",
            "/steps/1/step/plan/steps/0/task",
            id="a plan sees no item",
        ),
        pytest.param(
            {"step": {"kind": "plan", "plan": {"goal": "g", "steps": [{"id": "a", "task": "x", "needs": ["a"]}]}}},
            "P004",
            "/steps/1/step/plan/steps/0/depends_on/0",
            id="a plan in a map",
        ),
        pytest.param(
            {"step": {"kind": "plan", "args": {"z": 1}, "plan": {"goal": "g", "steps": [{"id": "a", "task": "x"}]}}},
            "P015",
            "/steps/1/step/args/z",
            id="unknown input",
        ),
        pytest.param(
            {"step": {"kind": "plan", "plan": {"goal": "g", "inputs": {"z": {}}, "steps": [{"id": "a", "task": "x"}]}}},
            "P011",
            "/steps/1/step/args",
            id="missing input",
        ),
    ],
)
def test_what_is_wrong_inside(change, code, place):
    """What is inside a step is checked like the rest, and found at its exact place."""
    with pytest.raises(PlanError) as raised:
        Plan.of(draft_from({**NESTED, "steps": [NESTED["steps"][0], {**MAPPED, **change}]}))

    assert [(code, place)] == [(each.code, each.place) for each in raised.value.diagnostics]


@pytest.mark.parametrize(
    ("step", "place", "message"),
    [
        pytest.param({"step": {"kind": "agent", "taks": "x"}}, "/steps/0/step/taks", "did you mean 'task'?", id="map"),
        pytest.param({"step": {"kind": "maap"}}, "/steps/0/step", "there is no kind 'maap'", id="kind"),
        pytest.param(
            {"step": {"kind": "plan", "plan": {"steps": [{"id": "a", "kind": "tool", "tool": 3}]}}},
            "/steps/0/step/plan/steps/0/tool",
            "a text is due, not the number 3",
            id="plan",
        ),
        pytest.param(
            {"step": {"verify": {"judge": "x", "mdoel": 1}}}, "/steps/0/step/verify/mdoel", "did you mean 'model'?", id="check"
        ),
        pytest.param({"estimate": {"calls": {"low": 1}}}, "/steps/0/estimate/calls/likely", "'likely' is missing", id="estimate"),
    ],
)
def test_a_wrong_field_inside(step, place, message):
    """Its place is that in the file, without the kinds that lie on the way."""
    with pytest.raises(PlanError) as raised:
        draft_from({"goal": "g", "steps": [{"id": "each", "kind": "map", "over": [], "step": {"task": "x"}, **step}]})

    assert place in [each.place for each in raised.value.diagnostics]
    assert message in str(raised.value)
