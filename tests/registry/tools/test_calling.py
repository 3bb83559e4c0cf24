"""The door through which tools are called."""

import sys
import threading
from collections.abc import Generator, Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from registry.calls import NO_CALL, Call
from registry.errors import BadArguments, Overloaded, ToolDenied, ToolError, ToolFailed, TryAgain
from registry.messages import Json, ToolCall, ToolSpec
from registry.tools.calling import as_tool_error, ask_tool, call_tool, due_arguments, told
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import ABSENT, Effect, Observation, ToolTraits

pytestmark = pytest.mark.anyio


def wanted(name: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(id="c1", name=name, arguments=arguments)


@tool(effect="pure")
async def echo(text: str) -> str:
    return text


@tool(trusted=True)
async def numbers() -> list[int]:
    return [1, 2]


FOREIGN = ToolSpec(
    name="foreign", description="", parameters={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
)


class ForeignTool:
    """A tool with a JSON Schema and no signature, as a server would offer it. It returns or raises one result after another."""

    def __init__(self, *results: object, **traits: Any) -> None:
        self.spec, self.traits = FOREIGN, ToolTraits(**traits)
        self._results = results
        self.calls: list[Mapping[str, Json]] = []

    async def run(self, args: Mapping[str, Json], call: Call) -> object:
        self.calls.append(args)
        await anyio.lowlevel.checkpoint()
        result = self._results[len(self.calls) - 1]
        if isinstance(result, Exception):
            raise result
        return result


async def called(foreign: ForeignTool, arguments: str = '{"n": 1}', call: Call = NO_CALL) -> Observation:
    return await call_tool(ToolRegistry([foreign]), wanted("foreign", arguments), call)


async def test_text() -> None:
    """A result of text is the observation, marked with the tool that it came from."""
    seen = await call_tool(ToolRegistry([echo]), wanted("functions.echo", '{"text": "hi"}'), NO_CALL)

    assert seen == Observation(call_id="c1", name="echo", text="hi", origins=("tool:echo",), seconds=seen.seconds)


async def test_trusted_data() -> None:
    """A trusted tool adds no origin; structured results are text and data."""
    seen = await call_tool(ToolRegistry([numbers]), ToolCall(id="c2", name="numbers", arguments="{}"), NO_CALL)

    assert seen == Observation(call_id="c2", name="numbers", text="[1,2]", data=[1, 2], seconds=seen.seconds)


async def test_a_name_is_the_one_that_is_meant() -> None:
    """A tool whose own name has a prefix, or is long, is called so in what is observed of it."""
    names = ("functions.echo", "x" * 128)
    tools = ToolRegistry([tool(name=name)(_silent) for name in names])

    seen = [await call_tool(tools, wanted(name), NO_CALL) for name in ("echo", "functions.echo", f"tools.{names[1]}")]

    assert [names[0], *names] == [each.name for each in seen]


async def _silent() -> str:
    return "..."


@pytest.mark.parametrize(
    ("name", "arguments", "error", "text"),
    [
        pytest.param("ecko", "{}", "UnknownTool", "no tool named 'ecko'; did you mean 'echo'? there are: echo", id="unknown"),
        pytest.param(
            "ecko", "null", "UnknownTool", "no tool named 'ecko'; did you mean 'echo'? there are: echo", id="unknown first"
        ),
        pytest.param(
            "echo",
            "null",
            "BadArguments",
            "wrong arguments for 'echo': they must be a JSON object, but are null: null",
            id="null",
        ),
        pytest.param(
            "echo",
            '["hi"]',
            "BadArguments",
            """wrong arguments for 'echo': they must be a JSON object, but are an array: ["hi"]""",
            id="array",
        ),
        pytest.param(
            "echo",
            '"hi"',
            "BadArguments",
            "wrong arguments for 'echo': they are not JSON: Expecting value at character 1: hi",
            id="a string",
        ),
        pytest.param("echo", "", "BadArguments", "wrong arguments for 'echo': text is required, but missing", id="missing"),
        pytest.param(
            "echo",
            '{"text": 1}',
            "BadArguments",
            "wrong arguments for 'echo': text: Input should be a valid string, got 1",
            id="wrong",
        ),
    ],
)
async def test_calls_that_never_run(name: str, arguments: str, error: str, text: str) -> None:
    """An unknown tool and bad arguments are observations that say what to do better."""
    seen = await call_tool(ToolRegistry([echo]), wanted(name, arguments), NO_CALL)

    assert (error, text, "c1") == (seen.error, seen.text, seen.call_id)


async def test_foreign_tools_are_checked_by_their_schema() -> None:
    """A tool without a signature never sees arguments that its schema forbids."""
    foreign = ForeignTool()

    seen = await called(foreign, '{"n": "1"}')

    assert (seen.error, seen.text) == ("BadArguments", "wrong arguments for 'foreign': n: '1' is not of type 'integer'")
    assert foreign.calls == []


@pytest.mark.parametrize(
    ("raised", "error", "text"),
    [
        pytest.param(KeyError("x"), "ToolFailed", "'foreign' failed: KeyError: 'x'", id="exception"),
        pytest.param(ValueError(), "ToolFailed", "'foreign' failed: ValueError", id="without words"),
        pytest.param(
            ToolFailed("foreign", "no such page"), "ToolFailed", "'foreign' failed: no such page", id="its own sentence"
        ),
        pytest.param(ToolDenied("foreign", "read only"), "ToolDenied", "'foreign' may not be called so: read only", id="denied"),
        pytest.param(TryAgain("with a later date"), "TryAgain", "try again: with a later date", id="another try"),
        pytest.param(
            Overloaded("m", "busy"),
            "ToolFailed",
            "'foreign' failed: Overloaded: m is overloaded: busy",
            id="a model's error within",
        ),
        pytest.param(
            ExceptionGroup("g", [KeyError("x"), ExceptionGroup("h", [ValueError("y")])]),
            "ToolFailed",
            "'foreign' failed: KeyError: 'x'; ValueError: y",
            id="group",
        ),
        pytest.param(
            ExceptionGroup("g", [ToolDenied("foreign", "read only")]),
            "ToolDenied",
            "'foreign' may not be called so: read only",
            id="a tool error alone in a group",
        ),
    ],
)
async def test_what_tools_raise_becomes_an_observation(raised: Exception, error: str, text: str) -> None:
    """The model reads the kind of error and its sentence, never a traceback, and where it came from is kept."""
    seen = await called(ForeignTool(raised))

    assert (error, text, ("tool:foreign",)) == (seen.error, seen.text, seen.origins)


def test_an_error_that_cant_be_told() -> None:
    """An exception that fails even to say what it is is told by its kind."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert str(as_tool_error("t", Mute())) == "'t' failed: Mute"
    assert told(ExceptionGroup("g", [Mute(), KeyError("x"), ExceptionGroup("h", [OSError()])])) == "Mute; KeyError: 'x'; OSError"


@pytest.mark.parametrize(
    ("effect", "retries", "runs", "error"),
    [
        pytest.param("pure", 2, 3, None, id="pure"),
        pytest.param("keyed", 1, 2, "ToolFailed", id="too few"),
        pytest.param("unkeyed", 2, 1, "ToolFailed", id="unkeyed"),
        pytest.param("transactional", 2, 1, "ToolFailed", id="transactional"),
    ],
)
async def test_retries(effect: Effect, retries: int, runs: int, error: str | None) -> None:
    """Only what may be repeated is repeated, and only as often as its traits say."""
    foreign = ForeignTool(OSError(), OSError(), "at last", effect=effect, retries=retries)

    seen = await called(foreign)

    assert (runs, error) == (len(foreign.calls), seen.error)


@pytest.mark.parametrize(
    "raised",
    [
        pytest.param(ToolDenied("foreign", "no"), id="a policy forbids it"),
        pytest.param(ToolFailed("foreign", "closed"), id="the tool knows that it is no use"),
        pytest.param(TryAgain("ask for less"), id="the model has to change something"),
    ],
)
async def test_what_would_be_the_same_again_is_not_retried(raised: ToolError) -> None:
    """The same call comes to the same, so the model reads it at once."""
    foreign = ForeignTool(raised, effect="pure", retries=3)

    assert (await called(foreign)).error == type(raised).__name__
    assert len(foreign.calls) == 1


@pytest.mark.parametrize(
    ("effect", "again", "results", "runs", "text"),
    [
        pytest.param("pure", 1, ["", "found"], 2, "found", id="the second time"),
        pytest.param("keyed", 1, [None, " \n", "late"], 2, "empty result", id="never"),
        pytest.param("pure", 2, [None, None, "late"], 3, "late", id="twice"),
        pytest.param("pure", 0, ["", "found"], 1, "empty result", id="off"),
        pytest.param("unkeyed", 1, ["", "found"], 1, "empty result", id="unkeyed"),
        pytest.param("pure", 1, [[], "found"], 1, "[]", id="an empty list is an answer"),
    ],
)
async def test_empty_results(effect: Effect, again: int, results: list[object], runs: int, text: str) -> None:
    """An empty result of a repeatable tool is asked for again, and never shown as nothing."""
    foreign = ForeignTool(*results, effect=effect, again_if_empty=again)

    seen = await called(foreign)

    assert (runs, text, None) == (len(foreign.calls), seen.text, seen.error)


def sleeper(seconds: float, **traits: Any) -> ToolRegistry:
    @tool(**traits)
    async def sleep() -> str:
        await anyio.sleep(seconds)
        return "awake"

    return ToolRegistry([sleep])


@pytest.mark.parametrize(
    ("limit", "deadline", "seconds", "text"),
    [
        pytest.param(None, None, 100, "awake", id="no limit"),
        pytest.param(200, 150, 100, "awake", id="in time"),
        pytest.param(5, None, 5, "'sleep' did not answer within 5 s", id="timeout"),
        pytest.param(None, 7, 7, "'sleep' did not answer within 7 s", id="deadline"),
        pytest.param(9, 7, 7, "'sleep' did not answer within 7 s", id="the nearer one"),
        pytest.param(None, -1, 0, "'sleep' did not answer within 0 s", id="too late to begin"),
    ],
)
async def test_time_limits(limit: float | None, deadline: float | None, seconds: float, text: str) -> None:
    """The tool's timeout and the call's deadline end the wait, whichever is nearer."""
    call = Call(deadline=None if deadline is None else anyio.current_time() + deadline)

    seen = await call_tool(sleeper(100, timeout=limit), wanted("sleep"), call)

    assert text[:30] == seen.text[:30]
    assert seconds == pytest.approx(seen.seconds, abs=0.5)
    assert seen.error == (None if text == "awake" else "ToolTimedOut")


async def test_nothing_starts_past_the_deadline() -> None:
    """A call whose time is over does not even begin, for it might end without ever waiting."""
    foreign = ForeignTool("done")

    seen = await called(foreign, call=Call(deadline=anyio.current_time()))

    assert (seen.error, foreign.calls) == ("ToolTimedOut", [])


async def test_each_try_has_its_own_timeout() -> None:
    """A pure call that timed out is tried again for as long, but never past the deadline."""
    tools = sleeper(100, effect="pure", timeout=5, retries=9)

    seen = await call_tool(tools, wanted("sleep"), Call(deadline=anyio.current_time() + 12))

    assert seen.error == "ToolTimedOut"
    assert seen.seconds == pytest.approx(12, abs=0.5)


async def test_cancellation_passes() -> None:
    """A cancelled call makes no observation."""
    seen: list[Observation] = []
    with anyio.move_on_after(1) as scope:
        seen.append(await call_tool(sleeper(100, effect="pure", retries=3), wanted("sleep"), NO_CALL))

    assert scope.cancelled_caught
    assert seen == []


async def test_a_timeout_of_the_tools_own_is_its_failure() -> None:
    """A tool that gives up by itself has failed; it did not overrun its limit here."""
    seen = await called(ForeignTool(TimeoutError(), timeout=5))

    assert (seen.error, seen.text) == ("ToolFailed", "'foreign' failed: TimeoutError")


async def test_many_calls_side_by_side() -> None:
    """A thousand calls at once keep their results apart, and a failing one harms none."""

    @tool(effect="pure", timeout=50)
    async def half(number: int) -> int:
        await anyio.sleep(number % 7)
        if number % 10 == 3:
            raise ValueError(number)
        return number * 2

    tools = ToolRegistry([half])
    seen: dict[int, Observation] = {}

    async def one(number: int) -> None:
        asked = ToolCall(id=str(number), name="half", arguments=f'{{"number": {number}}}')
        seen[number] = await call_tool(tools, asked, NO_CALL)

    async with anyio.create_task_group() as group:
        for number in range(1_000):
            group.start_soon(one, number)

    assert len(seen) == 1_000
    for number, observation in seen.items():
        expected = (str(number), "ToolFailed", None) if number % 10 == 3 else (str(number), None, number * 2)
        assert expected == (observation.call_id, observation.error, observation.data)


@pytest.mark.real_clock
async def test_a_timeout_does_not_wait_for_the_thread() -> None:
    """The model reads that the call may still be at work; what comes of it later is dropped."""
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    @tool(timeout=0.05)
    def block() -> str:
        begun.set()
        release.wait(30)
        ended.set()
        return "late"

    with anyio.fail_after(10):
        seen = await call_tool(ToolRegistry([block]), wanted("block"), NO_CALL)
    over = ended.is_set()
    release.set()

    assert (True, False, "ToolTimedOut") == (begun.is_set(), over, seen.error)
    assert (
        "'block' did not answer within 0.05 s; it can't be stopped and may still be at work, and what comes of it is lost"
        == seen.text
    )


async def test_a_tool_that_is_told_to_stop_may_have_something_to_say() -> None:
    """What it returns when its time is over is its result."""

    @tool(timeout=5)
    async def collect() -> str:
        try:
            await anyio.sleep(100)
        finally:
            return "as far as I came"  # noqa: B012

    assert "as far as I came" == (await call_tool(ToolRegistry([collect]), wanted("collect"), NO_CALL)).text


@pytest.mark.parametrize("result", [pytest.param(dict, id="a class"), pytest.param(threading.Lock(), id="a lock")])
async def test_a_result_that_cannot_be_shown_is_an_error(result: object) -> None:
    """It names the tool and the type, and says that the call itself was made."""
    seen = await called(ForeignTool(result, effect="pure", retries=1))

    why = f"it ran to its end, but what it returned is a value of type {type(result).__name__}, which can't be shown as text"
    assert ("ToolFailed", f"'foreign' failed: {why}") == (seen.error, seen.text)


@pytest.mark.parametrize(
    "raised",
    [
        pytest.param(SystemExit(3), id="bare"),
        pytest.param(BaseExceptionGroup("g", [SystemExit(3)]), id="in a group"),
    ],
)
async def test_a_tool_cannot_end_the_program(raised: BaseException) -> None:
    """Whoever calls `sys.exit` in a tool has failed to answer; it is no success, and is not tried again."""

    @tool(effect="pure", retries=3)
    async def leave() -> None:
        raise raised

    seen = await call_tool(ToolRegistry([leave]), wanted("leave"), NO_CALL)

    assert ("ToolFailed", "'leave' failed: SystemExit: 3") == (seen.error, seen.text)


@pytest.mark.real_clock
async def test_a_thread_cannot_end_the_program() -> None:
    """Nor does `sys.exit` in a thread."""

    @tool
    def leave() -> None:
        sys.exit(3)

    assert "'leave' failed: SystemExit: 3" == (await call_tool(ToolRegistry([leave]), wanted("leave"), NO_CALL)).text


@pytest.mark.parametrize(
    "raised",
    [
        pytest.param(KeyboardInterrupt(), id="bare"),
        pytest.param(BaseExceptionGroup("g", [KeyboardInterrupt(), ValueError()]), id="among others"),
    ],
)
async def test_the_user_can_end_the_program(raised: BaseException) -> None:
    """Ctrl-C is nothing for a model to read, wherever it comes up."""

    @tool
    async def work() -> None:
        raise raised

    with pytest.raises(type(raised)) as passed:
        await call_tool(ToolRegistry([work]), wanted("work"), NO_CALL)
    assert raised is passed.value


@pytest.mark.real_clock
async def test_threads_and_stop_iteration() -> None:
    """A sync tool that runs an iterator dry fails like any other, in its thread."""

    @tool
    def first() -> int:
        return next(iter(()))

    with anyio.fail_after(5):
        seen = await call_tool(ToolRegistry([first]), wanted("first"), NO_CALL)

    assert seen.error == "ToolFailed"
    assert "StopIteration" in seen.text


@pytest.mark.real_clock
async def test_many_threads_side_by_side() -> None:
    """Blocking tools run side by side in threads, and each call gets its own result."""

    @tool
    def square(number: int) -> int:
        return number**2

    tools = ToolRegistry([square])
    seen: dict[int, Json] = {}

    async def one(number: int) -> None:
        seen[number] = (await call_tool(tools, wanted("square", f'{{"number": {number}}}'), NO_CALL)).data

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(one, number)

    assert {number: number**2 for number in range(100)} == seen


async def test_an_error_that_is_no_text_is_told_all_the_same() -> None:
    """What a model reads can be stored and sent, whatever was raised."""
    seen = await called(ForeignTool(ValueError("half \ud800")))

    assert "'foreign' failed: ValueError: half ?" == seen.text


def test_the_arguments_that_a_tool_is_due() -> None:
    """They are mended and checked as they are for a call, by schema or by signature."""
    assert {"n": 1} == due_arguments(ForeignTool(), '{"n": 1,}')
    assert {"text": "x"} == due_arguments(echo, '{"text": "x"}')
    for made, arguments in ((ForeignTool(), "{}"), (echo, '{"txt": "x"}')):
        with pytest.raises(BadArguments):
            due_arguments(made, arguments)


def remembering(*found: object, **traits: Any) -> ForeignTool:
    """A tool whose record says so of each key it is asked about."""
    left = iter(found)

    async def probe(key: str) -> object:
        await anyio.sleep(1)
        result = next(left)
        if isinstance(result, Exception):
            raise result
        return (key, result) if result == "mine" else result

    return ForeignTool(effect="transactional", probe=probe, **traits)


@pytest.mark.parametrize(
    ("found", "text", "data"),
    [
        pytest.param("mine", '["k","mine"]', ["k", "mine"], id="a result of this key"),
        pytest.param("", "", None, id="nothing to say, but it happened"),
        pytest.param({"n": 1}, '{"n":1}', {"n": 1}, id="data"),
    ],
)
async def test_a_tool_says_what_became_of_a_call(found: object, text: str, data: Json) -> None:
    """Its own record is the outcome, with the origin that the call would have had."""
    seen = await ask_tool(remembering(found), wanted("foreign"), Call(key="k"))

    assert isinstance(seen, Observation)
    assert ("c1", text, data, None, ("tool:foreign",)) == (seen.call_id, seen.text, seen.data, seen.error, seen.origins)
    assert 1 <= seen.seconds < 2


async def test_a_tool_says_that_a_call_did_not_happen() -> None:
    """Nobody wrote its key down, so it is safe to run."""
    assert ABSENT is await ask_tool(remembering(ABSENT), wanted("foreign"), Call(key="k"))


@pytest.mark.parametrize(
    ("found", "traits", "why"),
    [
        pytest.param(None, {}, "returned None, which is neither a result nor ABSENT", id="neither yes nor no"),
        pytest.param(ConnectionError("down"), {}, "ConnectionError: down", id="broken"),
        pytest.param("late", {"timeout": 0.5}, "did not answer within 0.5 s", id="late"),
        pytest.param(object(), {}, "a value of type object, which can.t be shown", id="nothing to show"),
    ],
)
async def test_a_tool_that_cannot_say(found: object, traits: dict[str, float], why: str) -> None:
    """Nothing is concluded from it."""
    with pytest.raises(ToolError, match=why):
        await ask_tool(remembering(found, **traits), wanted("foreign"), Call(key="k"))


async def test_a_tool_may_have_scopes_of_its_own() -> None:
    """What it entered before it first waited holds beside the limit of its call, and is left in order."""

    @tool(timeout=50)
    async def patient(seconds: float) -> str:
        with anyio.move_on_after(5) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep, seconds)
        return f"gave up: {scope.cancelled_caught}"

    tools = ToolRegistry([patient])
    seen = [await call_tool(tools, wanted("patient", f'{{"seconds": {seconds}}}'), NO_CALL) for seconds in (1, 100)]

    assert ["gave up: False", "gave up: True"] == [each.text for each in seen]
    assert [1, 5] == [round(each.seconds) for each in seen]


async def test_a_tool_may_wait_as_often_as_it_likes() -> None:
    """Within its time: what it waits for gets to it, values and errors alike, and what time is left counts from its beginning."""

    class Twice:
        def __await__(self) -> Generator[Any, Any, str]:
            yield from anyio.sleep(1).__await__()
            yield from anyio.sleep(1).__await__()
            return "twice"

    @tool(timeout=10)
    async def waiting(more: float) -> str:
        send, receive = anyio.create_memory_object_stream[str](1)
        with send, receive:
            await send.send(await Twice())
            heard = await receive.receive()
        try:
            with anyio.fail_after(1):
                await anyio.sleep(5)
        except TimeoutError:
            heard += ", and late"
        await anyio.sleep(more)
        return heard

    tools = ToolRegistry([waiting])
    seen = [await call_tool(tools, wanted("waiting", f'{{"more": {more}}}'), NO_CALL) for more in (1, 8)]

    assert [("twice, and late", None), ("'waiting' did not answer within 10 s", "ToolTimedOut")] == [
        (each.text, each.error) for each in seen
    ]
    assert [4, 10] == [round(each.seconds) for each in seen]
