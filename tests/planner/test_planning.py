"""The planner, against scripted models of every quality."""

import json

import pytest

from planner.check import Known
from planner.errors import PlanError
from planner.plan import Input, ToolStep
from planner.planning import MOST_SUMMARY, Condensed, DAGPlanner, Found, answer_schema, kept
from planner.results import Failed, Missing, Skipped, Succeeded
from registry.calls import Call
from registry.errors import Overloaded
from registry.messages import ToolSpec
from registry.testing import SCRIPTED_USAGE, ScriptedModel, asks
from registry.usage import Usage
from tests.planner.drafts import draft, plan, step

pytestmark = pytest.mark.anyio

CALL = Call(run="r", scope="plan/1", purpose="plan")
TOOLS = (ToolSpec(name="search", description="Search.", parameters={"properties": {"q": {"type": "string"}}}),)
GOOD = [
    {"id": "a", "task": "Find A", "depends_on": [], "tool_hint": "search"},
    {"id": "b", "task": "Find B", "depends_on": [], "model_hint": "fast"},
    {"id": "c", "task": "Compare", "depends_on": ["a", "b"]},
]


async def planned(model, goal="Compare A and B"):
    return await DAGPlanner(model).plan(goal, today="2026-11-30", tools=TOOLS, hints=("general", "fast"), call=CALL)


async def revised(model, before, results):
    verdict = Missing(reasoning="not yet", missing=("more",))
    return await DAGPlanner(model).revise(before, results, verdict, today="", tools=TOOLS, hints=(), call=CALL)


@pytest.mark.parametrize(
    ("reply", "abilities"),
    [
        pytest.param(asks("plan", steps=GOOD), {"tool_call": True}, id="by tool call"),
        pytest.param(json.dumps({"steps": GOOD}), {"json_mode": True}, id="by JSON mode"),
        pytest.param("Sure!\n```json\n" + json.dumps({"steps": GOOD}) + "\n```", {}, id="in words"),
    ],
)
async def test_plan(reply, abilities):
    """One good answer is a plan, however the model gives it."""
    with ScriptedModel([reply], abilities=abilities) as model:
        found = await planned(model)

    assert "Compare A and B" == found.plan.goal
    assert {"a": (), "b": (), "c": ("a", "b")} == {one.id: one.depends_on for one in found.plan.steps}
    assert ("search", "fast") == (found.plan.step("a").tool_hint, found.plan.step("b").model_hint)
    assert () == found.diagnostics
    assert SCRIPTED_USAGE == found.usage
    assert [CALL] == model.calls


def test_schema():
    """The model is held to a small flat schema: at most twelve steps, hints that there are, and no text without end."""
    schema = answer_schema(Known(tools=frozenset({"search", "read"}), hints=frozenset({"fast"})))
    steps = schema["properties"]["steps"]
    step = steps["items"]["properties"]

    assert 12 == steps["maxItems"]
    assert {"id", "task", "depends_on", "tool_hint", "model_hint"} == set(step)
    assert (["read", "search"], ["fast"]) == (step["tool_hint"]["enum"], step["model_hint"]["enum"])
    assert all("maxLength" in step[name] for name in ("id", "task"))


def test_schema_without_means():
    """Where there are no tools there is nothing to hint at."""
    step = answer_schema(Known())["properties"]["steps"]["items"]["properties"]

    assert {"id", "task", "depends_on"} == set(step)


@pytest.mark.parametrize(
    ("steps", "ids", "codes"),
    [
        pytest.param([{"id": "a", "task": "x", "depends_on": ["a"]}], ["a"], ["P004"], id="depends on itself"),
        pytest.param([{"id": "1", "task": "x"}, {"id": "2", "task": ""}], ["1"], ["P007"], id="empty task"),
        pytest.param([{"task": "x"}, {"task": "y"}], ["step-1", "step-2"], ["P002"] * 2, id="no ids"),
        pytest.param([{"id": "a", "task": "x", "tool_hint": "none"}], ["a"], ["P008"], id="a tool that isn't there"),
        pytest.param([{"id": f"s{i}", "task": "Same"} for i in range(100)], ["s0"], ["P017"] * 99, id="hundred of the same"),
        pytest.param(
            [{"id": f"s{i}", "task": f"t{i}"} for i in range(15)], [f"s{i}" for i in range(12)], ["P016"] * 3, id="too many"
        ),
        pytest.param(["do x", {"id": "a", "task": "x"}], ["a"], ["P012"], id="text for a step"),
    ],
)
async def test_bad_models(steps, ids, codes):
    """A faulty answer is mended without asking again, and what was mended is told."""
    with ScriptedModel([asks("plan", steps=steps)]) as model:
        found = await planned(model)

    assert ids == [one.id for one in found.plan.steps]
    assert codes == [one.code for one in found.diagnostics]


async def test_asked_again():
    """An answer beyond repair is asked for once more, with the findings quoted, and both answers are paid for."""
    with ScriptedModel([asks("plan", steps=[{"id": "a", "task": " "}]), asks("plan", steps=GOOD)]) as model:
        found = await planned(model)

    assert 3 == len(found.plan.steps)
    assert 2 == found.usage.requests
    *_, said, told = model.requests[1].messages
    assert '"task": " "' in said.text
    assert "P001" in told.text
    assert "P007" in told.text


async def test_arguments_that_do_not_fit():
    """A call that its tool can't take is put to the model again."""
    wrong = {"id": "a", "kind": "tool", "tool": "search", "args": {"q": 1}, "depends_on": []}
    model = ScriptedModel([asks("plan", steps=[wrong]), asks("plan", steps=[wrong | {"args": {"q": "A"}}])])

    found = await planned(model)

    assert {"q": "A"} == found.plan.step("a").args
    assert "P019 error at /steps/0/args/q" in model.requests[1].messages[-1].text


async def test_beyond_repair():
    """Two answers without a usable step are a PlanError that knows what they cost."""
    with ScriptedModel([asks("plan", steps=[]), asks("plan", steps=[{}])]) as model, pytest.raises(PlanError) as raised:
        await planned(model)

    assert ["P001"] == [one.code for one in raised.value.diagnostics]
    assert 2 == raised.value.usage.requests


async def test_no_json_at_all():
    """A model that never answers in JSON gives a PlanError, not a plan of its chatter."""
    with pytest.raises(PlanError) as raised:
        await planned(ScriptedModel(lambda _: "I think we should plan.", abilities={}))

    assert ["P014"] == [one.code for one in raised.value.diagnostics]
    assert 2 == raised.value.usage.requests


async def test_no_goal():
    """Without a goal no model is asked."""
    with ScriptedModel([]) as model, pytest.raises(PlanError, match="P013"):
        await planned(model, goal=" ")


async def test_outage():
    """An outage passes as what it is, and what was spent before it is not forgotten."""
    script = [asks("plan", steps=[]), Overloaded("here", "busy")]
    with ScriptedModel(script) as model, pytest.raises(Overloaded) as raised:
        await planned(model)

    assert SCRIPTED_USAGE == raised.value.usage


BEFORE = plan(
    step("a"),
    ToolStep(id="t", tool="old", args={"q": "${inputs.i}"}),
    step("b", "a"),
    step("c", "b", "t"),
    inputs={"i": Input()},
    output="${steps.c.output}",
)
RESULTS = {
    "a": Succeeded(step="a", output="found", origins=("tool:web",)),
    "t": Succeeded(step="t", output="read"),
    "b": Failed(step="b", error="ToolFailed", message="broken"),
    "c": Skipped(step="c", because_of="b", reason="'b' did not succeed"),
}


async def test_revise():
    """What succeeded stays as it was, in front; new steps may name it, and old failures are gone."""
    new = [{"id": "b2", "task": "Another way", "depends_on": ["a"]}, {"id": "c", "task": "End", "depends_on": ["b2", "t", "b"]}]
    with ScriptedModel([asks("plan", steps=new)]) as model:
        found = await revised(model, BEFORE, RESULTS)

    assert BEFORE.steps[:2] == found.plan.steps[:2]
    assert {"a": (), "t": (), "b2": ("a",), "c": ("b2", "t")} == {one.id: one.depends_on for one in found.plan.steps}
    assert ["P005"] == [one.code for one in found.diagnostics]
    assert (BEFORE.goal, BEFORE.inputs, None) == (found.plan.goal, found.plan.inputs, found.plan.output)
    assert "not yet\n- more" in model.requests[0].messages[-1].text
    assert ("tool:web",) == model.requests[0].messages[-1].origins


async def test_revise_lists_finished_steps_again():
    """Finished steps that the model lists again are the finished ones."""
    new = [{"id": "a", "task": "do a", "depends_on": []}, {"id": "n", "task": "New", "depends_on": ["a"]}]
    with ScriptedModel([asks("plan", steps=new)]) as model:
        found = await revised(model, BEFORE, RESULTS)

    assert ["a", "t", "n"] == [one.id for one in found.plan.steps]


async def test_revise_without_new_steps():
    """A revision that adds nothing is no revision."""
    nothing_new = asks("plan", steps=[{"id": "a", "task": "do a", "depends_on": []}])
    with ScriptedModel([nothing_new, nothing_new]) as model, pytest.raises(PlanError) as raised:
        await revised(model, BEFORE, RESULTS)

    assert ["P001"] == [one.code for one in raised.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("It was all x.", True, id="told"),
        pytest.param("y" * 9_000, False, id="too long itself"),
        pytest.param("", False, id="nobody could tell it"),
    ],
)
async def test_what_can_not_be_shown_is_told_in_short(text, told):
    """Of long results the planner reads the beginning, and of all of them together what whoever can tells of them."""
    asked = []

    async def condense(found, aim, most, call):
        asked.append((found, aim, most, call))
        return Condensed(text=text, usage=SCRIPTED_USAGE)

    results = RESULTS | {"a": Succeeded(step="a", output="x" * 9_000, origins=("tool:web",))}
    with ScriptedModel([asks("plan", steps=[{"id": "n", "task": "New"}])]) as model:
        verdict = Missing(reasoning="not yet", missing=())
        found = await DAGPlanner(model, condense).revise(BEFORE, results, verdict, today="", tools=TOOLS, hints=(), call=CALL)

    question = model.requests[0].messages[-1].text
    assert [([Found("a", "x" * 9_000, ("tool:web",))], BEFORE.goal, MOST_SUMMARY, CALL)] == asked
    assert "[… 7000 characters cut]" in question
    assert told is ("What was cut in these results, in short:\n<result-" in question and text in question)
    assert Usage(requests=2, input_tokens=20, output_tokens=10) == found.usage


async def test_what_can_be_shown_needs_no_telling():
    """Nobody is asked to make short what is short."""

    async def condense(found, aim, most, call):
        raise AssertionError

    with ScriptedModel([asks("plan", steps=[{"id": "n", "task": "New"}])]) as model:
        verdict = Missing(reasoning="not yet", missing=())
        found = await DAGPlanner(model, condense).revise(BEFORE, RESULTS, verdict, today="", tools=TOOLS, hints=(), call=CALL)

    assert SCRIPTED_USAGE == found.usage


def test_kept():
    """A step that succeeded keeps all that it depends on, even a step that failed and was let pass."""
    before = plan(step("f", on_failure="continue"), step("s", "f"), step("x"))
    results = {"f": Failed(step="f", error="E", message="m"), "s": Succeeded(step="s", output="o")}

    assert draft(*before.steps[:2]) == kept(before, results)


async def test_usage_adds_up():
    """The planner's usage is that of all its answers."""
    with ScriptedModel([asks("plan", steps=[]), asks("plan", steps=GOOD)]) as model:
        found = await planned(model)

    assert Usage(requests=2, input_tokens=20, output_tokens=10) == found.usage
