"""The shipped fakes do what their script says, and tell when it was not followed."""

import anyio
import pytest

from registry.calls import Call
from registry.errors import Overloaded, Truncated
from registry.messages import ReasoningPiece, Reply, Request, TextPiece, UserMessage
from registry.testing import SCRIPTED_USAGE, CutAfter, Delay, FaultyModel, ScriptedModel, asks, asks_many, says

pytestmark = pytest.mark.anyio

HELLO = Request(messages=(UserMessage(text="hello"),))
CALL = Call(run="r1", scope="step/a")


async def test_lines_are_said_in_order_and_recorded():
    """Texts, replies and tool calls come back one for each request, which are kept with their calls."""
    with ScriptedModel(["one", says("two"), asks("add", a=1)]) as model:
        replies = [await model.chat(HELLO, CALL) for _ in range(3)]

    assert ["one", "two", ""] == [reply.text for reply in replies]
    assert ("add", '{"a":1}') == (replies[2].calls[0].name, replies[2].calls[0].arguments)
    assert [SCRIPTED_USAGE] * 3 == [reply.usage for reply in replies]
    assert [HELLO] * 3 == model.requests
    assert [CALL] * 3 == model.calls


async def test_call_ids_are_unique_across_replies():
    """Every tool call of a script gets an id of its own."""
    model = ScriptedModel([asks("a"), asks_many(("b", {}), ("c", {"x": 1}))])

    ids = [call.id for _ in range(2) for call in (await model.chat(HELLO, CALL)).calls]

    assert ["call_1", "call_2", "call_3"] == ids


async def test_an_error_in_the_script_is_raised():
    """A ModelError in the script is what the caller gets."""
    model = ScriptedModel([Overloaded("here", "busy")])

    with pytest.raises(Overloaded, match="busy"):
        await model.chat(HELLO, CALL)


async def test_a_dry_script_says_which_request_came():
    """A request too many is a fault of the test, and the message shows it."""
    model = ScriptedModel([])

    with pytest.raises(AssertionError, match=r"request 1 came.*hello"):
        await model.chat(HELLO, CALL)


def test_lines_left_over_fail_the_block():
    """Leaving the block with lines unused is an AssertionError that shows them."""
    with pytest.raises(AssertionError, match="never said"), ScriptedModel(["never said"]):
        pass


def test_an_error_in_the_block_is_not_hidden():
    """When the block fails by itself, that error is the one to see."""
    with pytest.raises(KeyError), ScriptedModel(["never said"]):
        raise KeyError


async def test_a_function_answers_what_it_is_asked():
    """A script may be a function of the request, and is never used up."""
    with ScriptedModel(lambda request: f"you said {request.messages[-1].text}") as model:
        reply = await model.chat(HELLO, CALL)

    assert "you said hello" == reply.text


async def test_a_stream_gives_words_and_then_the_reply():
    """The pieces add up to the text, reasoning first, and the last is the whole reply."""
    reply = Reply(text=" the sum\n is 3. ", reasoning="1 + 2")
    model = ScriptedModel([reply])

    *pieces, last = [piece async for piece in model.stream_chat(HELLO, CALL)]

    assert ReasoningPiece("1 + 2") == pieces[0]
    assert reply.text == "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    assert len(pieces) > 3
    assert reply == last


async def test_faults_come_in_turn():
    """Each call takes the next fault; None and the end of the list mean none."""
    model = FaultyModel(ScriptedModel(["late", "fine", "fine"]), [Overloaded("here", "busy"), Delay(7), None])

    with pytest.raises(Overloaded):
        await model.chat(HELLO, CALL)
    began = anyio.current_time()
    assert "late" == (await model.chat(HELLO, CALL)).text
    assert 7 == pytest.approx(anyio.current_time() - began, abs=0.5)
    assert ["fine", "fine"] == [(await model.chat(HELLO, CALL)).text for _ in range(2)]


async def test_a_cut_stream_shows_some_pieces_and_breaks():
    """CutAfter lets so many pieces through."""
    model = FaultyModel(ScriptedModel(["a b c d"]), [CutAfter(2)])
    stream = model.stream_chat(HELLO, CALL)

    assert [TextPiece("a "), TextPiece("b ")] == [await anext(stream), await anext(stream)]
    with pytest.raises(Truncated):
        await anext(stream)


async def test_a_cut_chat_has_no_reply():
    """A chat that was cut is as good as none."""
    model = FaultyModel(ScriptedModel(["a b c d"]), [CutAfter(2)])

    with pytest.raises(Truncated):
        await model.chat(HELLO, CALL)


def test_a_faulty_model_looks_like_the_one_inside():
    """Name, abilities and window are the inner model's."""
    inner = ScriptedModel([], name="m", abilities={"json_mode": True}, context_window=100)
    model = FaultyModel(inner, [])

    assert ("m", {"json_mode": True}, 100) == (model.name, model.abilities, model.context_window)
