"""Another model steps in before an attempt's first reply, and never after it."""

from contextlib import aclosing

import pytest

from registry.calls import Call
from registry.errors import ConfigurationError, Overloaded, Refused, Unauthorized, Unreachable
from registry.governor.fallback import FallbackModel
from registry.messages import Reply, Request, Reset, TextPiece, UserMessage
from registry.testing import SCRIPTED_USAGE, ScriptedModel
from registry.usage import UNMETERED, Usage

pytestmark = pytest.mark.anyio

HELLO = Request(messages=(UserMessage(text="hello"),))
CALL = Call(run="r", scope="step/a")


@pytest.mark.parametrize("error", [Unreachable("a", "gone"), Overloaded("a", "busy"), Unauthorized("a", "no key")])
async def test_the_next_model_steps_in(error):
    """A model that is down, overloaded or locked is passed over, at its cost."""
    error.usage = Usage(requests=3)
    model = FallbackModel([ScriptedModel([error], name="a"), ScriptedModel(["from b"], name="b")])

    reply = await model.chat(HELLO, CALL)

    assert "from b" == reply.text
    assert SCRIPTED_USAGE + Usage(requests=3) == reply.usage


async def test_a_model_that_does_not_say_what_it_cost():
    """An overloaded model that says nothing of its cost has one that nobody knows, not none."""
    model = FallbackModel([ScriptedModel([Overloaded("a", "busy")]), ScriptedModel(["from b"])])

    assert UNMETERED + SCRIPTED_USAGE == (await model.chat(HELLO, CALL)).usage


async def test_a_refused_request_is_not_tried_elsewhere():
    """A wrong request is wrong everywhere."""
    model = FallbackModel([ScriptedModel([Refused("a", "bad")]), ScriptedModel(["never"])])

    with pytest.raises(Refused):
        await model.chat(HELLO, CALL)


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


def test_it_looks_like_what_all_models_have_in_common():
    """The name is the first's; abilities and window are those that hold whoever answers."""
    first = ScriptedModel([], name="a", abilities={"tool_call": True, "json_mode": True}, context_window=9000)
    second = ScriptedModel([], name="b", abilities={"json_mode": True}, context_window=4000)

    model = FallbackModel([first, second])

    assert ("a", 4000) == (model.name, model.context_window)
    assert {"tool_call": False, "json_mode": True} == model.abilities


def test_no_models_is_a_wrong_setting():
    """A fallback of nothing is refused."""
    with pytest.raises(ConfigurationError):
        FallbackModel([])
