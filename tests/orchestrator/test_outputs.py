"""Typed results: data that fits the step's schema, or a failure that says why not."""

import pytest

from orchestrator.executor import DAGExecutor, Settled
from planner import Plan, Step, ToolStep
from planner.results import Failed, Results, Succeeded
from registry.messages import Json
from registry.testing import Line, ScriptedModel, asks
from registry.tools.function import tool

pytestmark = pytest.mark.anyio

TOWNS = {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}


@tool(effect="pure")
async def give(value: Json) -> object:
    """Give back what is given."""
    return value


async def walked(*steps: Step | ToolStep, lines: tuple[Line, ...] = ()) -> tuple[Results, ScriptedModel]:
    with ScriptedModel(lines) as model:
        found = await DAGExecutor(model, [give]).walk(Plan(goal="test", steps=steps))
    assert isinstance(found, Settled)
    return found.results, model


@pytest.mark.parametrize(
    "said",
    [
        pytest.param('[{"name": "Graz"}]', id="JSON"),
        pytest.param('Here it is:\n```json\n[{"name": "Graz"}]\n```', id="JSON in a fence"),
    ],
)
async def test_a_conclusion_is_read_as_data(said: str) -> None:
    """The agent is told the schema, its answer is read by it, and dependents get data."""
    results, model = await walked(
        Step(id="list", task="List them", output_schema=TOWNS, tools=()),
        ToolStep(id="first", tool="give", args={"value": "${steps.list.data[0].name}"}),
        lines=(said,),
    )

    assert "Graz" == results["first"].output
    assert '[{"name":"Graz"}]' == results["list"].output
    assert '"required": ["name"]' in model.requests[0].messages[-1].text


async def test_what_cannot_be_read_is_asked_for_again() -> None:
    """With all that was said and done before, and what is wrong with it; both replies count."""
    step = Step(id="a", task="List them", output_schema=TOWNS, tools=())
    results, model = await walked(step, lines=("There is only Graz.", asks("result", value=[{"name": "Graz"}])))

    assert isinstance(results["a"], Succeeded)
    assert ([{"name": "Graz"}], 2) == (results["a"].data, results["a"].usage.requests)
    assert "There is only Graz." in model.requests[1].messages[-1].text
    assert "The last answer can't be used as it is" in model.requests[1].messages[-1].text


async def test_a_model_that_never_gives_data_fails_its_step() -> None:
    """What it said stays to be read."""
    step = Step(id="a", task="List them", output_schema=TOWNS, tools=())
    results, _ = await walked(step, lines=("There is only Graz.", *["Graz!"] * 5))

    assert isinstance(results["a"], Failed)
    assert ("OutputUnfit", "There is only Graz.", 6) == (results["a"].error, results["a"].output, results["a"].usage.requests)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        pytest.param([{"name": "Graz"}], [{"name": "Graz"}], id="data"),
        pytest.param('[{"name": "Graz"}]', [{"name": "Graz"}], id="text that is data"),
        pytest.param([{"nome": "Graz"}], None, id="data that does not fit"),
        pytest.param("Graz", None, id="text"),
    ],
)
async def test_what_a_tool_gives_is_held_against_the_schema(value: Json, data: Json) -> None:
    """Nobody can be asked again."""
    results, _ = await walked(ToolStep(id="a", tool="give", args={"value": value}, output_schema=TOWNS))

    assert data == getattr(results["a"], "data", None)
    assert "OutputUnfit" == getattr(results["a"], "error", "OutputUnfit")
    assert (data is None) is isinstance(results["a"], Failed)
