"""Plans can't be built wrong, and mean the same in every notation."""

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from planner.check import Known, check
from planner.errors import PlanError
from planner.plan import ApprovalStep, Draft, Input, Plan, Step, ToolStep
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
