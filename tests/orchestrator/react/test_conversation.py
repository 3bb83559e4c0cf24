"""What an agent and its model say to each other: ids, what can be read again, what is summed up."""

from collections.abc import Callable

import pytest

from orchestrator.agent import ReActAgent
from orchestrator.events.glimpses import Compacted
from orchestrator.ledger import private_ledger
from registry.context import READ_RESULT
from registry.messages import AssistantMessage, Reply, Request, ToolCall, ToolMessage, UserMessage
from registry.testing import Line, ScriptedModel, asks
from registry.tools.function import FunctionTool, tool
from tests.orchestrator.react.dialects import BOTH, JSON, NATIVE, Spoken, results, shown_tools

pytestmark = pytest.mark.anyio


@tool(effect="pure")
async def status() -> str:
    """How it is."""
    return "up"


async def test_ids_that_come_again() -> None:
    """A provider that numbers its calls anew in each reply loses no result."""
    same = [Reply(calls=(ToolCall(id="call_1", name="status", arguments="{}"),) * 2) for n in range(3)]
    with ScriptedModel([*same, "done"]) as model:
        result = await ReActAgent(model, [status]).run("go")

    asked = [call.id for message in result.transcript if isinstance(message, AssistantMessage) for call in message.calls]
    came = [message.call_id for message in result.transcript if isinstance(message, ToolMessage)]
    assert asked == came
    assert 6 == len(set(asked))
    assert ["up"] * 6 == [text[:2] for text in results(model.requests[-1].messages)]


async def test_ids_of_calls_that_have_no_result() -> None:
    """A call that an earlier conversation left open has its id for itself, too."""
    call = ToolCall(id="call_1", name="status", arguments="{}")
    with ScriptedModel([Reply(calls=(call,)), "done"]) as model:
        result = await ReActAgent(model, [status]).run("go", history=[AssistantMessage(text="", calls=(call,))])

    asked = [call.id for message in result.transcript if isinstance(message, AssistantMessage) for call in message.calls]
    assert 2 == len(set(asked)) == len(asked)


async def test_json_calls_have_ids_of_their_own() -> None:
    """So that who watches can tell which outcome belongs to which call, in an earlier conversation's company too."""
    with ScriptedModel([JSON.call("status"), JSON.conclude("done")] * 2, abilities=JSON.abilities) as model:
        agent = ReActAgent(model, [status])
        first = await agent.run("one")
        second = await agent.run("two", history=first.transcript)

    ids = [message.call_id for message in second.transcript if isinstance(message, UserMessage) and message.call_id]
    assert 2 == len(set(ids)) == len(ids)


@BOTH
async def test_what_can_be_read_again_has_a_tool_that_reads_it(spoken: Spoken) -> None:
    """The tool appears once, when there is something worth reading again, and reads it by its handle."""

    @tool(effect="pure")
    async def fetch(n: int) -> str:
        """Fetch a page."""
        return f"page {n} " + "x" * 20_000 + " the end"

    def script(request: Request) -> Reply:
        match len(model.requests):
            case 1 | 2:
                return spoken.call("fetch", n=len(model.requests))
            case 3:
                preview = request.messages[-1].text
                handle = preview.partition(READ_RESULT + '("')[2].partition('"')[0]
                return spoken.call(READ_RESULT, handle=handle, offset=20_000, length=100)
            case _:
                return spoken.conclude("done")

    model = ScriptedModel(script, abilities=spoken.abilities)
    result = await ReActAgent(model, [fetch]).run("go")

    assert [["fetch"], *[["fetch", READ_RESULT]] * 3] == [shown_tools(request) for request in model.requests]
    first, _, read = results(result.transcript)
    assert len(first) < 6_000
    assert "the end" in read


async def test_a_huge_goal_can_be_read_in_parts() -> None:
    """What was given and does not fit is cut, and the tool that reads it is there from the start."""
    with ScriptedModel(["done"], abilities=NATIVE.abilities, context_window=8_192) as model:
        result = await ReActAgent(model).run("go " + "x" * 100_000)

    assert "completed" == result.outcome
    assert [READ_RESULT] == shown_tools(model.requests[0])


async def test_who_can_not_call_tools_is_not_taught_to_for_that() -> None:
    """A model that converses plainly goes on to do so."""
    with ScriptedModel(["done"], abilities={}, context_window=8_192) as model:
        result = await ReActAgent(model).run("go " + "x" * 100_000)

    assert ("completed", "done") == (result.outcome, result.answer)


async def test_a_conversation_that_grows_too_long_is_summed_up() -> None:
    """By the model that is for it; watchers are told, it is counted, and two runs never share a summary."""

    @tool(effect="pure")
    async def fetch(n: int) -> str:
        """Fetch a page."""
        return f"page {n} " + "word " * 400

    def laps(request: Request) -> Line:
        said = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return asks("fetch", n=len(model.requests)) if len(model.requests) % 12 else f"done with {said}"

    model = ScriptedModel(laps, context_window=8_192)
    summing = ScriptedModel(lambda request: f"a short history {len(summing.requests)}", name="summing")
    ledger = await private_ledger()
    agent = ReActAgent(model, [fetch], compaction=summing)
    result = await agent.run("one", ledger=ledger)
    half = len(summing.requests)
    await agent.run("two")

    assert "completed" == result.outcome
    assert half > 0
    assert {"compaction"} == {call.purpose for call in summing.calls}
    assert 12 + half == result.usage.requests
    watcher = ledger.telling.watch()
    ledger.telling.end()
    assert any([isinstance(recorded.event, Compacted) async for recorded in watcher])
    first, second = model.requests[:12], model.requests[12:]
    assert not any(f"a short history {n}" in text(second) for n in range(1, half + 1))
    assert "a short history 1" in text(first)


def text(requests: list[Request]) -> str:
    return "\n".join(message.text for request in requests for message in request.messages)


@pytest.mark.parametrize("made", [pytest.param(FunctionTool, id="a tool"), pytest.param(lambda f, **_: f, id="a function")])
async def test_the_users_own_names_are_theirs(made: Callable[..., object]) -> None:
    """A tool that has one of our names is not replaced, and is what it is."""

    async def read_result() -> str:
        """The user's own."""
        return "mine " + "x" * 3_000

    with ScriptedModel([asks("read_result"), "done"]) as model:
        result = await ReActAgent(model, [made(read_result)]).run("go")

    assert "completed" == result.outcome
    assert [["read_result"]] * 2 == [shown_tools(request) for request in model.requests]
