"""Another model steps in before an attempt's first reply, and never after it."""

from contextlib import aclosing

import pytest

from registry.calls import NO_CALL, Call
from registry.errors import (
    CircuitOpen,
    ConfigurationError,
    Garbled,
    OverBudget,
    Overloaded,
    Refused,
    Truncated,
    Unable,
    Unauthorized,
    Unreachable,
    WindowExceeded,
)
from registry.governor.fallback import FallbackModel
from registry.messages import Reply, Request, Reset, ResponseFormat, TextPiece, ToolSpec, UserMessage
from registry.models.layer import ModelLayer
from registry.testing import SCRIPTED_USAGE, ScriptedModel
from registry.usage import UNMETERED, Usage

pytestmark = pytest.mark.anyio

HELLO = Request(messages=(UserMessage(text="hello"),))
CALL = Call(run="r", scope="step/a")
WITH_TOOLS = Request(messages=HELLO.messages, tools=(ToolSpec(name="t", description="", parameters={}),))
AS_JSON = Request(messages=HELLO.messages, response_format=ResponseFormat())
TO_SCHEMA = Request(messages=HELLO.messages, response_format=ResponseFormat(schema={"type": "object"}))

NOBODY = Refused("a", "no such model", status=404)


def down(name: str, **about) -> ScriptedModel:
    return ScriptedModel([Unreachable(name, "gone")], name=name, **about)


@pytest.mark.parametrize(
    "error", [Unreachable("a", "gone"), CircuitOpen("a", 1), Overloaded("a", "busy"), Unauthorized("a", "no key"), NOBODY]
)
async def test_the_next_model_steps_in(error):
    """A model that is down, overloaded, locked or not there is passed over, at its cost."""
    error.usage = Usage(requests=3)
    model = FallbackModel([ScriptedModel([error], name="a"), ScriptedModel(["from b"], name="b")])

    reply = await model.chat(HELLO, CALL)

    assert "from b" == reply.text
    assert SCRIPTED_USAGE + Usage(requests=3) == reply.usage


async def test_a_model_that_does_not_say_what_it_cost():
    """An overloaded model that says nothing of its cost has one that nobody knows, not none."""
    model = FallbackModel([ScriptedModel([Overloaded("a", "busy")]), ScriptedModel(["from b"])])

    assert UNMETERED + SCRIPTED_USAGE == (await model.chat(HELLO, CALL)).usage


@pytest.mark.parametrize(
    "error",
    [
        Refused("a", "bad", status=400),
        Garbled("a", "html"),
        Truncated("a", "cut"),
        OverBudget("the run", "tokens", left=1, wanted=2),
    ],
)
async def test_other_faults_are_not_tried_elsewhere(error):
    """A wrong request is wrong everywhere, a reply that is no good was paid for, and money that is spent is spent."""
    model = FallbackModel([ScriptedModel([error]), ScriptedModel(["never"])])

    with pytest.raises(type(error)):
        await model.chat(HELLO, CALL)


@pytest.mark.parametrize(
    ("windows", "answer"),
    [
        pytest.param((100, 100, 200), "from 2", id="the first that is larger"),
        pytest.param((100, None, 200), "from 2", id="an unknown one is not known to be larger"),
        pytest.param((200, 100, 200), None, id="none is larger"),
        pytest.param((None, 100, 200), None, id="than what"),
    ],
)
async def test_an_overlong_request_goes_where_there_is_more_room(windows, answer):
    """What is too long for one model is tried only with those whose windows are known to be larger."""
    first, *others = windows
    links = [ScriptedModel([WindowExceeded("a", "long")], context_window=first)]
    links += [ScriptedModel([f"from {place}"], context_window=window) for place, window in enumerate(others, 1)]
    model = FallbackModel(links)

    if answer is None:
        with pytest.raises(WindowExceeded):
            await model.chat(HELLO, CALL)
    else:
        assert answer == (await model.chat(HELLO, CALL)).text


@pytest.mark.parametrize(
    ("request_", "ability"),
    [
        pytest.param(WITH_TOOLS, "tool_call", id="tools"),
        pytest.param(AS_JSON, "json_mode", id="any JSON object"),
        pytest.param(TO_SCHEMA, "json_schema", id="a schema"),
        pytest.param(TO_SCHEMA, "json_mode", id="a schema, told in words"),
    ],
)
async def test_models_without_the_ability_are_passed_over(request_, ability):
    """A request never lands on a model that can't take it, however many are down."""
    able = {ability: True}
    model = FallbackModel([down("a", abilities=able), ScriptedModel([], abilities={}), ScriptedModel(["c"], abilities=able)])

    assert "c" == (await model.chat(request_, CALL)).text


@pytest.mark.parametrize(("request_", "needs"), [(WITH_TOOLS, ("tool_call",)), (TO_SCHEMA, ("json_schema", "json_mode"))])
async def test_no_model_is_left_that_is_able(request_, needs):
    """The error says what is lacking, who lacks it, and what became of the one that has it, at its cost."""
    gone = Unreachable("a", "gone", usage=Usage(requests=4))
    able = ScriptedModel([gone], name="a", abilities={needs[0]: True})
    model = FallbackModel([able, ScriptedModel([], name="b", abilities={}), ScriptedModel([], name="c", abilities={})])

    with pytest.raises(Unable, match="lacking in b, c; the last one asked: a can't be reached: gone") as raised:
        await model.chat(request_, CALL)

    assert (needs, ("b", "c")) == (raised.value.needs, raised.value.lacking)
    assert Usage(requests=4) == raised.value.usage


async def test_the_attempt_then_belongs_to_those_that_were_passed_over():
    """Asked in a way that needs no ability, they answer, and what was down is not waited for again in this attempt."""
    first = down("a", abilities={"tool_call": True})
    model = FallbackModel([first, down("b", abilities={}), ScriptedModel(["c", "still c"], abilities={})])
    with pytest.raises(Unable):
        await model.chat(WITH_TOOLS, CALL)

    assert ["c", "still c"] == [(await model.chat(HELLO, CALL)).text for _ in range(2)]
    assert 1 == len(first.requests)


async def test_who_refused_is_named():
    """A refusal of the second model is not to be blamed on the first, whose name both go by."""
    model = FallbackModel([down("a"), ScriptedModel([Refused("b.example", "no", parameter="tools")], name="b")])

    with pytest.raises(Refused) as raised:
        await model.chat(HELLO, CALL)

    assert ("b.example", "b") == (raised.value.endpoint, raised.value.model)


async def test_the_first_reply_binds_its_attempt():
    """After a reply the attempt keeps its model, even when that fails later; the next attempt is free again."""
    first = ScriptedModel(["one", Unreachable("a", "gone"), Unreachable("a", "gone")], name="a")
    second = ScriptedModel(["two"], name="b")
    model = FallbackModel([first, second])
    await model.chat(HELLO, CALL)

    with pytest.raises(Unreachable):
        await model.chat(HELLO, CALL)
    reply = await model.chat(HELLO, Call(run="r", scope="step/a", attempt=2))

    assert "two" == reply.text


async def test_calls_outside_any_run_are_no_conversation():
    """A script that asks now and then gets the first model again as soon as that is back."""
    first = ScriptedModel([Unreachable("a", "gone"), "from a"], name="a")
    model = FallbackModel([first, ScriptedModel(["from b"], name="b")])

    assert ["from b", "from a"] == [(await model.chat(HELLO, NO_CALL)).text for _ in range(2)]


async def test_a_binding_to_the_second_model_holds():
    """Once the second model has answered, the first is not asked again in that attempt."""
    first = ScriptedModel([Unreachable("a", "gone")], name="a")
    model = FallbackModel([first, ScriptedModel(["one", "two"], name="b")])

    texts = [(await model.chat(HELLO, CALL)).text for _ in range(2)]

    assert ["one", "two"] == texts
    first.assert_used_up()


async def test_the_last_error_is_raised_with_all_costs():
    """When nobody answers, the last error tells what all of them cost."""
    errors = [Unreachable("a", "gone"), Overloaded("b", "busy")]
    for error in errors:
        error.usage = Usage(requests=2)
    model = FallbackModel([ScriptedModel([errors[0]]), ScriptedModel([errors[1]])])

    with pytest.raises(Overloaded) as raised:
        await model.chat(HELLO, CALL)

    assert Usage(requests=4) == raised.value.usage


class Breaking(ScriptedModel):
    """Loses its connection after the first piece."""

    async def stream_chat(self, request, call):
        async with aclosing(super().stream_chat(request, call)) as pieces:
            yield await anext(pieces)
            raise Unreachable("a", "connection lost")


async def test_a_stream_that_breaks_goes_on_elsewhere_after_a_reset():
    """What the first model has shown is void before the second one speaks."""
    model = FallbackModel([Breaking(["a b"]), ScriptedModel(["c"])])

    pieces = [piece async for piece in model.stream_chat(HELLO, CALL)]

    assert [TextPiece, Reset, TextPiece, Reply] == [type(piece) for piece in pieces]


async def test_a_stream_passes_over_those_that_lack_the_ability():
    """What was shown before is void, and the error tells that nobody is left."""
    model = FallbackModel([Breaking(["a b"]), ScriptedModel([], abilities={})])

    async with aclosing(model.stream_chat(WITH_TOOLS, CALL)) as pieces:
        assert [TextPiece, Reset] == [type(await anext(pieces)) for _ in range(2)]
        with pytest.raises(Unable):
            await anext(pieces)


def test_it_looks_like_its_first_model():
    """Name, endpoint and abilities are the first's: a weak model behind it takes nothing away. Its window holds for all."""
    abilities = {"tool_call": True, "json_mode": True}
    first = ScriptedModel([], name="a", endpoint="https://a", abilities=abilities, context_window=9000)
    second = ScriptedModel([], name="b", endpoint="https://b", abilities={"json_mode": True}, context_window=4000)

    model = FallbackModel([first, second])

    assert ("a", "https://a", abilities, 4000) == (model.name, model.endpoint, model.abilities, model.context_window)


def test_as_punctual_as_all_models():
    """A fallback keeps a call's deadline only if each of its models does."""
    punctual, other = ModelLayer(ScriptedModel([])), ScriptedModel([])
    punctual.punctual = True

    assert FallbackModel([punctual, punctual]).punctual
    assert not FallbackModel([punctual, other]).punctual


def test_no_models_is_a_wrong_setting():
    """A fallback of nothing is refused."""
    with pytest.raises(ConfigurationError):
        FallbackModel([])
