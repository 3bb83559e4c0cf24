"""An agent reads again what no longer stands in its context: its own, and in parts."""

from collections.abc import Coroutine

import pytest

from orchestrator.agent import ReActAgent
from orchestrator.ledger import private_ledger
from orchestrator.memory import LONGEST_READING, Memory
from registry.calls import NO_CALL, Call
from registry.context import LONGEST_RESULT, READ_RESULT, ContextGuard
from registry.errors import Unreachable
from registry.messages import Json, Request, ToolCall, ToolMessage, UserMessage
from registry.testing import Line, ScriptedModel, asks
from registry.tools.artifacts import Artifact
from registry.tools.calling import call_tool
from registry.tools.function import FunctionTool, tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Observation

pytestmark = pytest.mark.anyio

LONG = "".join(f"{n:09d}\n" for n in range(2_000))


ROOMY, TIGHT = ContextGuard(None), ContextGuard(4_000)


def seen(text: str, *, call_id: str = "c1", name: str = "fetch page") -> Observation:
    return Observation(call_id=call_id, name=name, text=text, origins=("tool:fetch page",))


async def read(memory: Memory, **arguments: Json) -> Observation:
    wanted = ToolCall(id="r1", name=READ_RESULT, arguments=str(arguments).replace("'", '"'))
    return await call_tool(ToolRegistry([memory.tool]), wanted, NO_CALL)


def test_a_short_result_enters_whole() -> None:
    """Up to the limit nothing is left out, and it has a handle all the same."""
    memory = Memory(ROOMY)
    short = seen("x" * LONGEST_RESULT)

    assert short is memory.noted(short, "step/s/tool/d/1")
    assert ["c1"] == list(memory.handles)


def test_a_long_result_enters_as_a_preview_with_its_handle() -> None:
    """Its origins, data and artefacts stay; only the text is shorter."""
    memory = Memory(ROOMY)
    made = (Artifact(name="a", media_type="text/plain", content="a"),)
    whole = Observation(call_id="c1", name="fetch", text=LONG, data=[1], artifacts=made, origins=("tool:fetch",), seconds=2.0)

    short = memory.noted(whole, "step/s/tool/d/1")

    assert memory.handles["c1"] in short.text
    assert len(short.text) < 5_000
    assert (whole.data, whole.artifacts, whole.origins) == (short.data, short.artifacts, short.origins)


def test_a_handle_is_the_same_when_resumed_and_never_another_ones() -> None:
    """It is made of the call's key, with the tool's name before it for people and models to tell it by."""
    first, again = Memory(ROOMY), Memory(ROOMY)
    for memory in (first, again):
        memory.noted(seen("a", call_id="c1"), "step/s/tool/d/1")
        memory.noted(seen("a", call_id="c2"), "step/s/tool/d/2")
        memory.noted(seen("a", call_id="c3"), "step/t/tool/d/1")

    assert first.handles == again.handles
    assert 3 == len(set(first.handles.values()))
    assert all(handle.startswith("fetch_page-") for handle in first.handles.values())


async def test_it_is_read_in_parts() -> None:
    """Part by part, each saying where the next begins, the whole text comes back."""
    memory = Memory(ROOMY)
    memory.noted(seen(LONG), "k")
    handle, parts, offset = memory.handles["c1"], [], 0

    while offset < len(LONG):
        part, _, note = (await read(memory, handle=handle, offset=offset)).text.rpartition("\n")
        parts.append(part)
        begin, offset = offset, offset + len(part)
        left = f"; offset={offset} reads on" if offset < len(LONG) else ", the end"
        assert f"[characters {begin} to {offset} of 20000{left}]" == note

    assert LONG == "".join(parts)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        pytest.param({"handle": "fetch-1"}, "ToolFailed", "there is no handle 'fetch-1'; there are: fetch_page-", id="unknown"),
        pytest.param({"handle": "", "offset": -1}, "BadArguments", "offset", id="before the start"),
        pytest.param({"handle": "", "length": LONGEST_READING + 1}, "BadArguments", "length", id="too much at once"),
    ],
)
async def test_what_can_not_be_read_says_why(arguments: dict[str, Json], error: str, said: str) -> None:
    """A model can do better with what the error tells it."""
    memory = Memory(ROOMY)
    memory.noted(seen(LONG), "k")

    wrong = await read(memory, **arguments)

    assert error == wrong.error
    assert said in wrong.text


async def test_beyond_the_end() -> None:
    """There is nothing there, and how much there is, is said."""
    memory = Memory(ROOMY)
    memory.noted(seen("short"), "k")

    assert "[there are only 5 characters]" == (await read(memory, handle=memory.handles["c1"], offset=5)).text


async def test_a_reading_is_never_left_out_in_turn() -> None:
    """The longest one enters whole, and has no handle of its own."""
    memory = Memory(ROOMY)
    memory.noted(seen(LONG), "k")

    came = await read(memory, handle=memory.handles["c1"], length=LONGEST_READING)
    noted = memory.noted(came, "k2")

    assert came.text == noted.text
    assert len(came.text) < LONGEST_RESULT
    assert ["c1"] == list(memory.handles)


async def test_origins_are_not_lowered_by_reading_again() -> None:
    """What comes out of memory is from wherever that which went in was."""
    memory = Memory(ROOMY)
    memory.noted(seen(LONG), "k")

    came = memory.noted(await read(memory, handle=memory.handles["c1"]), "k2")

    assert ("tool:fetch page", "tool:read_result") == came.origins


async def test_what_an_agent_was_given_can_be_read() -> None:
    """A goal that had to be cut goes by a handle too, made of itself."""
    memory = Memory(TIGHT, LONG)

    assert not memory.empty
    assert (await read(memory, handle=memory.handles[LONG], offset=10, length=9)).text.startswith("000000001\n")
    assert memory.handles == Memory(TIGHT, LONG).handles


@pytest.mark.parametrize(
    ("window", "given", "results", "empty"),
    [
        pytest.param(4_000, "short", [], True, id="nothing yet"),
        pytest.param(None, LONG, ["x" * LONGEST_RESULT] * 9, True, id="a window without an end"),
        pytest.param(1_000_000, LONG, ["x" * LONGEST_RESULT] * 9, True, id="a roomy window"),
        pytest.param(4_000, "short", ["x" * 500, "y" * 500], False, id="results that take a tenth"),
        pytest.param(4_000, "x" * 3_030, [], False, id="a goal that takes a third"),
        pytest.param(None, "short", ["x" * (LONGEST_RESULT + 1)], False, id="a preview"),
    ],
)
def test_whether_there_is_anything_to_read(window: int | None, given: str, results: list[str], empty: bool) -> None:
    """A tool for it is offered only once it could be of use."""
    memory = Memory(ContextGuard(window), given)
    for n, text in enumerate(results):
        memory.noted(seen(text, call_id=f"c{n}"), f"k{n}")

    assert empty is memory.empty


def reads_line_1000(request: Request) -> Line:
    """A model that fetches a long page, and then reads in it what its preview left out."""
    last = request.messages[-1]
    if isinstance(last, UserMessage):
        return asks("fetch")
    if isinstance(last, ToolMessage) and last.name == "fetch":
        return asks(READ_RESULT, handle=last.text.partition('read_result("')[2].partition('"')[0], offset=10_000, length=9)
    return last.text.splitlines()[0]


@pytest.fixture
def fetch() -> tuple[FunctionTool[[], Coroutine[None, None, str]], list[str]]:
    """A tool with a long result, and the list of how often it ran."""
    ran: list[str] = []

    @tool(effect="pure")
    async def fetch() -> str:
        """Fetch a long page."""
        ran.append("fetch")
        return LONG

    return fetch, ran


async def test_an_agent_reads_its_own_result_again(fetch) -> None:
    """Offered once there is something to read, the tool gives the model what its preview left out."""
    model = ScriptedModel(reads_line_1000)

    result = await ReActAgent(model, [fetch[0]]).run("What is on line 1000?")

    assert "000001000" == result.answer
    assert [["fetch"], ["fetch", READ_RESULT], ["fetch", READ_RESULT]] == [
        [spec.name for spec in request.tools] for request in model.requests
    ]
    assert LONG not in [message.text for message in result.transcript if isinstance(message, ToolMessage)]


async def test_memory_outlives_its_process(fetch) -> None:
    """An agent that is told again has the same handles, and nothing runs a second time for them."""
    ledger, call = await private_ledger(), Call(scope="step/d")
    cut = ScriptedModel([asks("fetch"), Unreachable("m", "the process ended")])
    ended = await ReActAgent(cut, [fetch[0]]).run("What is on line 1000?", call=call, ledger=ledger)
    ledger.rewind(call.scope)

    model = ScriptedModel(reads_line_1000)
    result = await ReActAgent(model, [fetch[0]]).run("What is on line 1000?", call=call, ledger=ledger)

    assert ("failed", "completed", "000001000") == (ended.outcome, result.outcome, result.answer)
    assert ["fetch"] == fetch[1]
    assert 2 == len(model.requests)


async def test_a_goal_that_is_too_long_can_be_read() -> None:
    """It is cut to leave room to work, and the mark says how to go on."""

    def script(request: Request) -> Line:
        if isinstance(request.messages[-1], UserMessage):
            handle = request.messages[1].text.partition('read_result("')[2].partition('"')[0]
            return asks(READ_RESULT, handle=handle, offset=len(LONG), length=9)
        return request.messages[-1].text.splitlines()[0]

    result = await ReActAgent(ScriptedModel(script, context_window=4_000)).run(LONG + "the end\n")

    assert ("completed", "the end") == (result.outcome, result.answer)


async def test_a_model_that_has_no_tools_is_told_of_none() -> None:
    """What was cut for it is gone, and says only that."""
    model = ScriptedModel(["So be it."], abilities={}, context_window=4_000)

    await ReActAgent(model).run(LONG)

    assert model.requests[0].messages[1].text.endswith(" characters cut]")
