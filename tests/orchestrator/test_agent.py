"""The loop of one agent, in both dialects."""

import json
from collections.abc import Callable
from contextlib import aclosing

import anyio
import pytest

from orchestrator.agent import UNPARSED, ReActAgent
from orchestrator.hooks import CompositeHook, Hook
from orchestrator.interrupts import InterruptQueue
from registry.errors import ToolDenied, Unable, Unreachable
from registry.governor.fallback import FallbackModel
from registry.messages import AssistantMessage, Piece, Reply, Request, Reset, TextPiece, ToolCall, ToolMessage, UserMessage
from registry.testing import SCRIPTED_USAGE, CutAfter, FaultyModel, ScriptedModel, asks, asks_many, says
from registry.tools.function import tool
from registry.usage import UNMETERED

pytestmark = pytest.mark.anyio

JSON_ONLY = {"json_mode": True}


@tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="pure")
async def doze(seconds: float) -> str:
    """Wait a while."""
    await anyio.sleep(seconds)
    return f"slept {seconds}"


def act(name: str, **arguments: object) -> Reply:
    """A tool call in the Json dialect."""
    return says(json.dumps({"reasoning": "because", "tool_call": {"name": name, "arguments": arguments}}))


def answer(text: str) -> Reply:
    """A final answer in the Json dialect."""
    return says(json.dumps({"reasoning": "now I know", "final_answer": text}))


BOTH = pytest.mark.parametrize(
    ("abilities", "call", "conclude"),
    [
        pytest.param({"tool_call": True}, asks, says, id="native"),
        pytest.param(JSON_ONLY, act, answer, id="json"),
        pytest.param({}, act, answer, id="json without json mode"),
    ],
)
Says = Callable[..., Reply]


@BOTH
async def test_reason_act_observe(abilities: dict[str, bool], call: Says, conclude: Says) -> None:
    """The model asks for a tool, reads the observation and concludes."""
    with ScriptedModel([call("add", a=2, b=3), conclude("It is 5.")], abilities=abilities) as model:
        result = await ReActAgent(model, [add]).run("What is 2 + 3?")

    assert ("It is 5.", "completed", 2) == (result.answer, result.outcome, result.iterations)
    assert 2 == result.usage.requests
    assert "5" in model.requests[1].messages[-1].text


@BOTH
async def test_errors_of_tools_are_observations(abilities: dict[str, bool], call: Says, conclude: Says) -> None:
    """An unknown tool, wrong arguments and a failing tool are read by the model, and the loop goes on."""

    @tool(effect="pure")
    async def broken() -> str:
        """Always fails."""
        raise KeyError("x")

    script = [call("ad", a=1, b=2), call("add", a="one", b=2), call("broken"), conclude("gave up")]
    with ScriptedModel(script, abilities=abilities) as model:
        result = await ReActAgent(model, [add, broken]).run("go")

    assert "completed" == result.outcome
    said = [request.messages[-1].text for request in model.requests[1:]]
    assert "did you mean 'add'?" in said[0]
    assert "'a'" in said[1] or "a:" in said[1]
    assert "KeyError" in said[2]


async def test_pure_calls_of_one_reply_run_side_by_side() -> None:
    """Three naps of a second take a second, and their observations stand in call order."""
    calls = asks_many(("doze", {"seconds": 3}), ("doze", {"seconds": 1}), ("doze", {"seconds": 2}))
    began = anyio.current_time()
    with ScriptedModel([calls, "rested"]) as model:
        await ReActAgent(model, [doze]).run("rest")

    assert anyio.current_time() - began < 3.5
    seen = [message for message in model.requests[1].messages if isinstance(message, ToolMessage)]
    assert ["slept 3.0", "slept 1.0", "slept 2.0"] == [message.text for message in seen]
    assert [call.id for call in model.requests[1].messages[-4].calls] == [message.call_id for message in seen]


async def test_effects_run_alone_and_in_order() -> None:
    """Calls that are not pure never overlap, and keep their order."""
    running: list[str] = []

    @tool
    async def write(name: str) -> str:
        """Write something."""
        assert not running
        running.append(name)
        await anyio.sleep(1)
        return running.pop()

    with ScriptedModel([asks_many(*(("write", {"name": str(i)}) for i in range(3))), "done"]) as model:
        result = await ReActAgent(model, [write]).run("go")

    assert ["0", "1", "2"] == [message.text for message in result.transcript if isinstance(message, ToolMessage)]
    assert model.requests


async def test_the_limit_ends_with_a_last_word() -> None:
    """At the limit the model is asked once more, without tools, and the outcome is exhausted."""
    with ScriptedModel([asks("add", a=1, b=1), asks("add", a=1, b=2), "I only got this far."]) as model:
        result = await ReActAgent(model, [add], max_iterations=2).run("go")

    assert ("exhausted", "I only got this far.", 2) == (result.outcome, result.answer, result.iterations)
    assert "none" == model.requests[-1].tool_choice


async def test_no_last_word_is_said_so() -> None:
    """Where not even a summary can be had, the answer says that."""
    with ScriptedModel([asks("add", a=1, b=1), Unreachable("x", "gone", usage=UNMETERED)]) as model:
        result = await ReActAgent(model, [add], max_iterations=1).run("go")

    assert ("exhausted", SCRIPTED_USAGE + UNMETERED) == (result.outcome, result.usage)
    assert "gone" in result.answer


@pytest.mark.parametrize(
    ("script", "outcome", "answer"),
    [
        pytest.param(["", "", "at last"], "completed", "at last", id="two empty ones, then a reply"),
        pytest.param(["", "", ""] * 2, "empty", "", id="three empty ones, twice"),
        pytest.param(["", "", "", "", "at last"], "completed", "at last", id="three empty ones, and one more"),
        pytest.param([Reply(text="one ", finish="length"), "two"], "completed", "one two", id="continued"),
        pytest.param([Reply(text="x", finish="length")] * 8, "truncated", "xxxx", id="never complete"),
        pytest.param([Reply(text="x", finish="length")] * 4 + ["short"], "completed", "short", id="complete at last"),
        pytest.param([Reply(text="x", finish="length")] * 4 + [""] * 3, "empty", "", id="two causes"),
        pytest.param([Reply(text="I won't", finish="refused")], "refused", "I won't", id="refused"),
        pytest.param([Unreachable("x", "gone")], "failed", "", id="no model"),
    ],
)
async def test_outcomes_are_typed(script: list[Reply | str], outcome: str, answer: str) -> None:
    """Empty replies are asked for again, cut ones continued, and what remains of them is no success."""
    with ScriptedModel(script) as model:
        result = await ReActAgent(model).run("go")

    assert (outcome, answer) == (result.outcome, result.answer)
    assert result.iterations == (2 if len(script) > 4 else 1)


async def test_a_call_that_was_cut_off_never_runs() -> None:
    """A reply that ends at its token cap is not trusted, even where its call could be read."""
    ran = []

    @tool
    async def send(text: str) -> str:
        """Send it."""
        ran.append(text)
        return "sent"

    cut = Reply(calls=(ToolCall(id="1", name="send", arguments='{"text": "par"}'),), finish="length")
    with ScriptedModel([cut, asks("send", text="whole"), "done"]) as model:
        result = await ReActAgent(model, [send]).run("go")

    assert "completed" == result.outcome
    assert ["whole"] == ran


async def test_json_that_can_not_be_read_is_asked_for_again() -> None:
    """The Json dialect asks once more, then takes the raw text as the answer and says so."""
    with ScriptedModel(["no json", "still none"], abilities=JSON_ONLY) as model:
        result = await ReActAgent(model, [add]).run("go")

    assert ("completed", "still none", True, UNPARSED) == (result.outcome, result.answer, result.unparsed, result.reasoning)
    assert 2 == result.iterations
    assert "could not be used" in model.requests[1].messages[-1].text


async def test_json_that_was_cut_off_is_not_continued() -> None:
    """Half an object can't be gone on with: a shorter one is asked for, and what stays half is a truncated answer."""
    half = Reply(text='{"reasoning": "so', finish="length")
    with ScriptedModel([half, answer("short")], abilities=JSON_ONLY) as model:
        mended = await ReActAgent(model, [add]).run("go")
    with ScriptedModel([half] * 8, abilities=JSON_ONLY) as model:
        lost = await ReActAgent(model, [add]).run("go")

    assert ("completed", "short", 1) == (mended.outcome, mended.answer, mended.iterations)
    assert ("truncated", 2) == (lost.outcome, lost.iterations)


async def test_json_reasoning_is_kept() -> None:
    """The `reasoning` field of the last object is the result's reasoning."""
    with ScriptedModel([answer("yes")], abilities=JSON_ONLY) as model:
        result = await ReActAgent(model, [add]).run("go")

    assert "now I know" == result.reasoning


async def test_native_tools_can_be_declined() -> None:
    """`use_native_tools=False` makes a model with tool calls speak Json."""
    with ScriptedModel([answer("ok")]) as model:
        await ReActAgent(model, [add], use_native_tools=False).run("go")

    assert () == model.requests[0].tools
    assert "add" in model.requests[0].messages[0].text


STRONG = {"tool_call": True, "json_mode": True}


def strong(*script: Reply | str | Unreachable) -> ScriptedModel:
    return ScriptedModel(script, name="strong", abilities=STRONG)


async def test_a_weak_model_in_reserve_takes_nothing_away() -> None:
    """While the first of several models is there, it is spoken to in its own dialect."""
    first = strong(asks("add", a=2, b=3), "It is 5.")
    result = await ReActAgent(FallbackModel([first, ScriptedModel([], abilities={})]), [add]).run("What is 2 + 3?")

    assert ("completed", "It is 5.") == (result.outcome, result.answer)
    assert ["add"] == [spec.name for spec in first.requests[0].tools]


@pytest.mark.parametrize(
    ("weak", "as_json"), [pytest.param(JSON_ONLY, True, id="JSON mode"), pytest.param({}, False, id="words only")]
)
async def test_a_weak_model_steps_in_and_is_spoken_to_in_its_dialect(weak: dict[str, bool], as_json: bool) -> None:
    """When nobody with tool calls is left before the first reply, the agent begins anew in Json, at what the others cost."""
    first = strong(Unreachable("strong", "gone", usage=UNMETERED))
    second = ScriptedModel([act("add", a=2, b=3), answer("It is 5.")], name="weak", abilities=weak)
    result = await ReActAgent(FallbackModel([first, second]), [add], system="Be brief.").run("What is 2 + 3?")

    assert ("completed", "It is 5.", 2) == (result.outcome, result.answer, result.iterations)
    assert UNMETERED + SCRIPTED_USAGE + SCRIPTED_USAGE == result.usage
    assert [1, 2] == [len(model.requests) for model in (first, second)]
    asked = second.requests[0]
    assert ((), as_json) == (asked.tools, asked.response_format is not None)
    assert result.transcript[:2] == asked.messages
    assert asked.messages[0].text.startswith("Be brief.\n\nYou can use these tools:\n- add:")
    assert UserMessage(text="What is 2 + 3?", pinned=True) == asked.messages[1]


async def test_a_streamed_lap_steps_down_too() -> None:
    """It makes no difference whether the lap streams."""

    class Stream(Hook):
        async def should_stream(self, iteration: int) -> bool:
            return True

    first = strong(Unreachable("strong", "gone"))
    second = ScriptedModel([answer("Nothing to add.")], abilities={})
    hooks = CompositeHook([Stream()], report=lambda what, error: None)
    result = await ReActAgent(FallbackModel([first, second]), [add], hooks=hooks).run("go")

    assert ("completed", "Nothing to add.") == (result.outcome, result.answer)


@pytest.mark.parametrize(
    ("script", "laps"),
    [
        pytest.param([asks("add", a=1, b=1), Unable(("tool_call",), ("b",))], 2, id="after a reply"),
        pytest.param([Unable(("tool_call",), ("b",)), Unable(("tool_call",), ("b",))], 1, id="where Json is no help either"),
        pytest.param([Unable(("vision",), ("b",))], 1, id="an ability that the agent never used"),
    ],
)
async def test_there_is_not_always_another_dialect(script: list[Reply | Unable], laps: int) -> None:
    """A conversation that has begun keeps its dialect, and nobody is asked for ever."""
    with ScriptedModel(script) as model:
        result = await ReActAgent(model, [add]).run("go")

    assert ("failed", Unable, laps) == (result.outcome, type(result.error), result.iterations)


async def test_an_interrupt_suppresses_the_answer() -> None:
    """A message that arrives before the conclusion is read first: pinned, as one, and the loop goes on."""
    queue = InterruptQueue()

    def script(request: Request) -> str:
        if len(model.requests) == 1:
            queue.put("wait")
            queue.put("in French, please")
            return "Hello"
        return "Bonjour"

    model = ScriptedModel(script)
    result = await ReActAgent(model, interrupts=queue).run("greet")

    assert "Bonjour" == result.answer
    heard = [message for message in result.transcript if isinstance(message, UserMessage)][-1]
    assert UserMessage(text="[USER INTERRUPT]\nwait\nin French, please", pinned=True) == heard


async def test_a_policy_can_deny_and_rewrite() -> None:
    """`before_tool` may refuse a call, which the model reads, or change it; one that fails has refused."""

    class Policy(Hook):
        async def before_tool(self, wanted, call):
            numbers = json.loads(wanted.arguments)
            if numbers["a"] == 1:
                raise ToolDenied("add", "not with a one")
            if numbers["a"] == 2:
                raise RuntimeError("broken policy")
            return ToolCall(id=wanted.id, name=wanted.name, arguments='{"a": 10, "b": 10}')

    script = [asks_many(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 1}), ("add", {"a": 3, "b": 1})), "done"]
    hooks = CompositeHook([Policy()], report=lambda what, error: None)
    with ScriptedModel(script) as model:
        result = await ReActAgent(model, [add], hooks=hooks).run("go")

    seen = [message.text for message in result.transcript if isinstance(message, ToolMessage)]
    assert "not with a one" in seen[0]
    assert "broken policy" in seen[1]
    assert "20" == seen[2]


async def test_a_streamed_iteration_reaches_the_hook() -> None:
    """`should_stream` makes an iteration stream, and its pieces go to `on_stream`."""
    heard: list[Piece] = []

    class Listen(Hook):
        async def should_stream(self, iteration: int) -> bool:
            return iteration == 2

        async def on_stream(self, piece, call):
            heard.append(piece)

    hooks = CompositeHook([Listen()], report=lambda what, error: None)
    with ScriptedModel([asks("add", a=1, b=2), "it is three"]) as model:
        result = await ReActAgent(model, [add], hooks=hooks).run("go")

    assert "it is three" == result.answer
    assert "it is three" == "".join(piece.text for piece in heard if isinstance(piece, TextPiece))


async def test_origins_are_joined() -> None:
    """What a model says carries the origins of everything it has read."""
    with ScriptedModel([asks("add", a=1, b=2), "three"]) as model:
        result = await ReActAgent(model, [add]).run("go")

    said = [message.origins for message in result.transcript if isinstance(message, AssistantMessage)]
    assert [(), ("tool:add",)] == said
    assert ("tool:add",) == result.origins


async def test_many_runs_on_one_agent() -> None:
    """An agent keeps no state, so runs of it don't meet."""
    model = ScriptedModel(lambda request: request.messages[-1].text.upper())
    agent = ReActAgent(model)
    answers: dict[str, str] = {}

    async def one(goal: str) -> None:
        answers[goal] = (await agent.run(goal)).answer

    async with anyio.create_task_group() as group:
        for goal in "abc":
            group.start_soon(one, goal)

    assert {"a": "A", "b": "B", "c": "C"} == answers


async def shown(agent: ReActAgent, goal: str) -> list[Piece]:
    result = await agent.run(goal)
    async with aclosing(agent.stream_answer(result)) as pieces:
        return [piece async for piece in pieces]


async def test_the_answer_is_streamed_from_the_trace() -> None:
    """Phase two reads the whole trace, each tool result cut with a mark, and writes the answer anew."""

    @tool(effect="pure")
    async def long() -> str:
        """A long text."""
        return "x" * 3000

    with ScriptedModel([asks("long"), "short answer", "the whole answer"]) as model:
        pieces = await shown(ReActAgent(model, [long]), "go")

    assert "the whole answer" == "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    trace = model.requests[-1].messages[-1].text
    assert 2000 <= trace.count("x") < 2100
    assert "1,000" in trace or "1000" in trace


async def test_a_broken_stream_falls_back() -> None:
    """When the stream breaks off, what was shown is void and the loop's own answer is the answer."""
    model = FaultyModel(ScriptedModel(["short answer", "the whole answer"]), [None, CutAfter(2)])
    pieces = await shown(ReActAgent(model), "go")

    assert [TextPiece("the "), TextPiece("whole ")] == pieces[:2]
    assert isinstance(pieces[2], Reset)
    assert [TextPiece("short answer")] == pieces[3:]
