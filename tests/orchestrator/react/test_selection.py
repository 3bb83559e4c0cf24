"""Which of many tools an agent is shown, and how it gets the others."""

import pytest

from orchestrator.react.selection import (
    MORE_TOOLS,
    TOOL_SELECTION_MAX,
    TOOL_SELECTION_THRESHOLD,
    Offer,
    catalogue,
    choose,
    must_choose,
)
from registry.calls import NO_CALL
from registry.errors import Overloaded, ToolFailed
from registry.messages import Json, Request, ToolSpec
from registry.testing import SCRIPTED_USAGE, Line, ScriptedModel, asks, says
from registry.tools.function import FunctionTool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Observation
from registry.usage import Usage

pytestmark = pytest.mark.anyio


def many(count: int, *, pinned: str = "") -> ToolRegistry:
    """`tool1`, `tool2`, ..."""

    def made(name: str) -> FunctionTool[..., str]:
        async def work() -> str:
            """Does its work."""
            return name

        return FunctionTool(work, name=name, effect="pure", pinned=name == pinned)

    return ToolRegistry(made(f"tool{n}") for n in range(1, count + 1))


@pytest.mark.parametrize(
    ("tools", "must"),
    [
        pytest.param(many(TOOL_SELECTION_THRESHOLD), False, id="few"),
        pytest.param(many(TOOL_SELECTION_THRESHOLD + 1), True, id="many"),
        pytest.param(many(20).with_tools(FunctionTool(lambda: None, name=MORE_TOOLS)), False, id="the user has that name"),
    ],
)
def test_when_there_is_a_choice(tools: ToolRegistry, must: bool) -> None:
    """Only among more than twelve, and where the others can be asked for."""
    assert must == must_choose(tools)


def test_the_catalogue_has_a_short_line_for_each() -> None:
    """Name and first line, no schema."""
    specs = [
        ToolSpec(name="add", description="Add numbers.\nAll of them.", parameters={"type": "object"}),
        ToolSpec(name="long", description="x" * 500, parameters={}),
    ]
    first, second = catalogue(specs).splitlines()

    assert "add: Add numbers." == first
    assert second.startswith("long: xxx")
    assert 81 == len(second)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        pytest.param(asks("tools", tools=["tool3", "tool2"]), ["tool2", "tool3"], id="chosen"),
        pytest.param(asks("tools", tools=["nope", "functions.tool3"]), ["tool3"], id="some unknown"),
        pytest.param(
            asks("tools", tools=[f"tool{n}" for n in range(12, 2, -1)]), [f"tool{n}" for n in range(7, 13)], id="too many"
        ),
    ],
)
async def test_the_model_chooses(line: Line, shown: list[str]) -> None:
    """At most six, of those that there are, in the order they had; and a tool to ask for more."""
    model = ScriptedModel([line])

    offer, usage = await choose(many(20), "the goal", model, NO_CALL)

    assert [*shown, MORE_TOOLS] == list(offer.shown.names)
    assert len(shown) <= TOOL_SELECTION_MAX
    assert SCRIPTED_USAGE == usage
    assert "selection" == model.calls[0].purpose
    assert "the goal" in model.requests[0].messages[1].text
    assert "tool20: Does its work." in model.requests[0].messages[1].text


@pytest.mark.parametrize(
    ("script", "usage"),
    [
        pytest.param([asks("tools", tools=["nope"])], SCRIPTED_USAGE, id="all unknown"),
        pytest.param([asks("tools", tools=[])], SCRIPTED_USAGE, id="none"),
        pytest.param([says("I would take the third")] * 5, None, id="unreadable"),
        pytest.param([Overloaded("x", "busy")], Usage(), id="an outage"),
    ],
)
async def test_it_is_never_fatal(script: list[Line], usage: Usage | None) -> None:
    """Where no choice can be had, all tools are shown."""
    tools, model = many(20), ScriptedModel(script)

    offer, cost = await choose(tools, "the goal", model, NO_CALL)

    assert tools is offer.shown
    assert usage is None or usage == cost


async def test_a_bug_of_ours_is_not_swallowed() -> None:
    """Only what models and tools may raise makes the choice fall back."""

    def script(request: Request) -> Line:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await choose(many(20), "the goal", ScriptedModel(script), NO_CALL)


async def test_hinted_and_pinned_tools_are_always_shown() -> None:
    """Beside the six; a hint at no tool is none."""
    chosen = asks("tools", tools=[f"tool{n}" for n in range(1, 7)])
    tools = many(20, pinned="tool9")

    hinted, _ = await choose(tools, "g", ScriptedModel([chosen]), NO_CALL, hint="tool8")
    astray, _ = await choose(tools, "g", ScriptedModel([chosen]), NO_CALL, hint="nope")

    six = [f"tool{n}" for n in range(1, 7)]
    assert [*six, "tool8", "tool9", MORE_TOOLS] == list(hinted.shown.names)
    assert [*six, "tool9", MORE_TOOLS] == list(astray.shown.names)


def answered(data: Json, *, name: str = MORE_TOOLS, error: str | None = None) -> Observation:
    return Observation(call_id="1", name=name, text="", data=data, error=error)


@pytest.mark.parametrize(
    ("seen", "more"),
    [
        pytest.param(answered({"added": ["tool9", "tool8"]}), ["tool9", "tool8"], id="asked for"),
        pytest.param(
            answered({"added": ["tool1", "tool9", "tool9", "nope"]}), ["tool9"], id="each once, and none that is no tool"
        ),
        pytest.param(answered({"added": ["tool9"]}, error="ToolDenied"), [], id="denied"),
        pytest.param(answered({"added": ["tool9"]}, name="tool1"), [], id="said by another tool"),
        pytest.param(answered({"added": "tool9"}), [], id="rewritten to something else"),
        pytest.param(answered(None), [], id="rewritten to text"),
    ],
)
def test_what_was_asked_for_comes_behind(seen: Observation, more: list[str]) -> None:
    """The tools so far stay where they are; where nothing comes, the offer is the same one."""
    offer = Offer.of_some(many(20), ["tool1"])

    assert ["tool1", MORE_TOOLS, *more] == list(offer.after([seen]).shown.names)
    assert more or offer is offer.after([seen])


def test_a_tool_of_the_users_gives_no_tools() -> None:
    """Whatever it is called."""
    offer = Offer.of_all(many(2).with_tools(FunctionTool(lambda: None, name=MORE_TOOLS)))

    assert offer is offer.after([answered({"added": ["tool1"]})])


async def test_asking_for_more() -> None:
    """The tool names the others, gives those that there are, and says what is near to one that is not."""
    tool = Offer.of_some(many(14), ["tool1"]).shown.get(MORE_TOOLS)

    assert "There are also: tool2, tool3," in tool.spec.description
    assert {"added": ["tool9"]} == await tool.run({"names": ["functions.tool9", "nope"]}, NO_CALL)
    with pytest.raises(ToolFailed, match="did you mean 'tool9'"):
        await tool.run({"names": ["tol9"]}, NO_CALL)
    with pytest.raises(ToolFailed):
        await tool.run({"names": ["tool1"]}, NO_CALL)
