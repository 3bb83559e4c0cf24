"""What travels along edges: for each fault the smallest plan that has it, and the nearest that hasn't."""

import pytest

from planner.check.known import Known
from planner.check.promises import promise_errors
from planner.plan import ApprovalStep, Input, MapStep, PlanStep, ToolStep
from registry.tools.function import tool
from tests.planner.drafts import draft, step


@tool(effect="pure")
def paint(boats: int, colour: str = "red", names: list[str] | None = None) -> str:
    """Paint boats."""
    return f"{boats} {colour}"


@tool(effect="pure", result={"type": "object", "properties": {"boats": {"type": "integer"}}})
def count() -> dict:
    """Count boats."""
    return {"boats": 3}


KNOWN = Known.of([paint, count], {})
COUNTED = {
    "type": "object",
    "properties": {"boats": {"type": "integer"}, "names": {"type": "array", "items": {"type": "string"}}},
}
ASKED = {"n": Input(type="integer"), "text": Input(), "row": Input(type="array")}


def paints(**args) -> ToolStep:
    return ToolStep(id="p", tool="paint", args=args)


def first(schema=COUNTED):
    return step("a", output_schema=schema)


@pytest.mark.parametrize(
    ("wrong", "right", "code", "place", "words"),
    [
        pytest.param(
            draft(step("a"), step("b", task="${steps.a.data.boats}")),
            draft(first(), step("b", task="${steps.a.data.boats}")),
            "P018",
            "/steps/1/task",
            "step 'a' does not promise: it gives plain text",
            id="data of an agent without a schema",
        ),
        pytest.param(
            draft(first(), step("b", task="${steps.a.data.boat}")),
            draft(first(), step("b", task="${steps.a.data.boats}")),
            "P018",
            "/steps/1/task",
            "there is no 'boat'; did you mean 'boats'?",
            id="another property",
        ),
        pytest.param(
            draft(first(), output="${steps.a.data.names.x}"),
            draft(first(), output="${steps.a.data.names[0]}"),
            "P018",
            "/output",
            "there is no 'x' in array",
            id="of a list",
        ),
        pytest.param(
            draft(ApprovalStep(id="a", question="?"), step("b", task="${steps.a.data.who}")),
            draft(ApprovalStep(id="a", question="?"), step("b", task="${steps.a.data.by}")),
            "P018",
            "/steps/1/task",
            "there are: by, text",
            id="an approval",
        ),
        pytest.param(
            draft(ToolStep(id="a", tool="count"), step("b", task="${steps.a.data.ships}")),
            draft(ToolStep(id="a", tool="count"), step("b", task="${steps.a.data.boats}")),
            "P018",
            "/steps/1/task",
            "there is no 'ships'",
            id="a tool that declares its result",
        ),
        pytest.param(
            draft(step("a", task="${inputs.text.x}"), inputs=ASKED),
            draft(step("a", task="${inputs.row[0].x}"), inputs=ASKED),
            "P018",
            "/steps/0/task",
            "input 'text' does not promise: there is no 'x' in string",
            id="part of an input",
        ),
        pytest.param(
            draft(step("a"), step("b", when="${steps.a.data.x} == 1")),
            draft(step("a"), step("b", when="${steps.a.status} == 'failed'")),
            "P018",
            "/steps/1/when",
            "plain text",
            id="in a condition",
        ),
        pytest.param(
            draft(first(), MapStep(id="m", over="${steps.a.data.boats}", step=step("i"))),
            draft(first(), MapStep(id="m", over="${steps.a.data.names}", step=step("i"))),
            "P018",
            "/steps/1/over",
            "a list is due, and ${steps.a.data.boats} gives integer",
            id="a map over no list",
        ),
        pytest.param(
            draft(MapStep(id="m", over=[1], step=step("i", output_schema=COUNTED)), step("b", task="${steps.m.data[0].x}")),
            draft(MapStep(id="m", over=[1], step=step("i", output_schema=COUNTED)), step("b", task="${steps.m.data[0].boats}")),
            "P018",
            "/steps/1/task",
            "there is no 'x'",
            id="an item of a map",
        ),
        pytest.param(
            draft(paints()), draft(paints(boats=1)), "P019", "/steps/0/args", "needs the argument 'boats'", id="missing argument"
        ),
        pytest.param(
            draft(paints(boats=1, color="blue")),
            draft(paints(boats=1, colour="blue")),
            "P019",
            "/steps/0/args/color",
            "no parameter 'color'; did you mean 'colour'?",
            id="unknown argument",
        ),
        pytest.param(
            draft(paints(boats="three")),
            draft(paints(boats=3)),
            "P019",
            "/steps/0/args/boats",
            "takes integer for 'boats', and this gives string",
            id="type of a value",
        ),
        pytest.param(
            draft(step("a"), paints(boats="${steps.a.output}")),
            draft(first(), paints(boats="${steps.a.data.boats}")),
            "P019",
            "/steps/1/args/boats",
            "this gives string",
            id="type along an edge",
        ),
        pytest.param(
            draft(paints(boats="${inputs.text}"), inputs=ASKED),
            draft(paints(boats="${inputs.n}"), inputs=ASKED),
            "P019",
            "/steps/0/args/boats",
            "this gives string",
            id="type of an input",
        ),
        pytest.param(
            draft(paints(boats="${inputs.n}", names="${inputs.text}"), inputs=ASKED),
            draft(paints(boats="${inputs.n}", names="${inputs.row}"), inputs=ASKED),
            "P019",
            "/steps/0/args/names",
            "takes array or null",
            id="one of several types",
        ),
        pytest.param(
            draft(MapStep(id="m", over=[1], step=paints())),
            draft(MapStep(id="m", over=[1], step=paints(boats="${item}"))),
            "P019",
            "/steps/0/step/args",
            "'boats'",
            id="inside a map",
        ),
        pytest.param(
            draft(PlanStep(id="q", plan=draft(paints()))),
            draft(PlanStep(id="q", plan=draft(paints(boats=1)))),
            "P019",
            "/steps/0/plan/steps/0/args",
            "'boats'",
            id="inside a plan",
        ),
    ],
)
def test_codes(wrong, right, code, place, words):
    """A broken promise gives its code at its place; a kept one gives nothing."""
    (found,) = promise_errors(wrong, KNOWN)

    assert (code, "error", place) == (found.code, found.severity, found.place)
    assert words in found.message
    assert () == promise_errors(right, KNOWN)


@pytest.mark.parametrize(
    "unsaid",
    [
        pytest.param(draft(ToolStep(id="a", tool="t"), paints(boats="${steps.a.data.x}")), id="a tool's result"),
        pytest.param(draft(first({}), paints(boats="${steps.a.data.x}")), id="a schema that says nothing"),
        pytest.param(draft(step("a"), paints(boats="${steps.zz.data.x}")), id="what is not there is another check's"),
        pytest.param(draft(ToolStep(id="x", tool="strange", args={"q": 1})), id="a tool that nobody knows"),
        pytest.param(
            draft(MapStep(id="m", over=[1], on_item_failure="collect", step=first()), step("b", task="${steps.m.data[0].error}")),
            id="what failed is among the items",
        ),
    ],
)
def test_unknown_is_no_fault(unsaid):
    """Where nobody said what comes, nothing is found."""
    assert () == promise_errors(unsaid, KNOWN)
