"""Streams become pieces and one reply; a stream that was cut never becomes a wrong one."""

import json

import orjson
import pytest

from registry.errors import Garbled, ModelError, Overloaded, Refused, Truncated
from registry.messages import Json, ReasoningPiece, Reply, TextPiece, ToolCall
from registry.usage import UNMETERED, Usage
from registry.wire.assembler import Assembler
from registry.wire.thinking import Pieces


def chunk(delta: Json, finish: str | None = None, **fields: Json) -> bytes:
    value = {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **fields}
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


USAGE = {"prompt_tokens": 10, "completion_tokens": 5}
COUNTED = Usage(requests=1, input_tokens=10, output_tokens=5)
USAGE_CHUNK = b"data: " + orjson.dumps({"choices": [], "usage": USAGE}) + b"\n\n"
DONE = b"data: [DONE]\n\n"


def assembled(raw: bytes, *, size: int = 10_000) -> tuple[Pieces, Reply]:
    assembler = Assembler("https://x")
    pieces = [piece for at in range(0, len(raw), size) for piece in assembler.read(raw[at : at + size])]
    held, reply = assembler.reply()
    return [*pieces, *held], reply


RECORDED = (
    chunk({"role": "assistant", "content": "", "refusal": None})
    + b": ping\n\n"
    + chunk({"reasoning_content": "hm é"})
    + chunk({"content": "né "})
    + chunk({"content": "🙂\u2028<think>"})
    + chunk({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "f", "arguments": '{"a":'}}]})
    + chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"ü"}'}}]})
    + chunk({"tool_calls": [{"index": 1, "id": "y", "function": {"name": "g", "arguments": "{}"}}]})
    + chunk({}, "tool_calls")
    + USAGE_CHUNK
    + DONE
)
RIGHT = Reply(
    text="né 🙂\u2028<think>",
    reasoning="hm é",
    calls=(ToolCall(id="x", name="f", arguments='{"a":"ü"}'), ToolCall(id="y", name="g", arguments="{}")),
    finish="tool_calls",
    usage=COUNTED,
    model="m",
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, 100_000])
def test_reads_may_be_cut_anywhere(size: int) -> None:
    """The reply and the text that was shown are the same, wherever reads end, in the middle of characters too."""
    pieces, reply = assembled(RECORDED, size=size)

    assert RIGHT == reply
    assert RIGHT.text == "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    assert RIGHT.reasoning == "".join(piece.text for piece in pieces if isinstance(piece, ReasoningPiece))


def test_a_stream_cut_anywhere_is_never_wrong() -> None:
    """Cut after any byte, a stream is Truncated or the right reply, at most without its usage."""
    right = {RIGHT, Reply(text=RIGHT.text, reasoning=RIGHT.reasoning, calls=RIGHT.calls, finish=RIGHT.finish, model="m")}
    outcomes = []
    for end in range(len(RECORDED)):
        try:
            outcomes.append(assembled(RECORDED[:end])[1])
        except Truncated:
            outcomes.append(None)

    assert right == set(outcomes) - {None}
    first = next(at for at, outcome in enumerate(outcomes) if outcome)
    assert all(outcomes[first:])
    assert RECORDED.index(b'"finish_reason": "tool_calls"') < first < RECORDED.index(b'"usage"')


@pytest.mark.parametrize(
    ("raw", "text", "finish", "usage"),
    [
        pytest.param(chunk({"content": "Hi"}) + chunk({}, "stop") + USAGE_CHUNK + DONE, "Hi", "stop", COUNTED, id="usage chunk"),
        pytest.param(chunk({"content": "Hi"}) + chunk({}, "stop") + DONE, "Hi", "stop", UNMETERED, id="no usage"),
        pytest.param(
            chunk({"content": "par"}) + chunk({"content": "is"}, "stop", usage=USAGE),
            "paris",
            "stop",
            COUNTED,
            id="all in one chunk",
        ),
        pytest.param(
            chunk({"content": "H"}, usage={"prompt_tokens": 10, "completion_tokens": 1}) + chunk({}, "stop", usage=USAGE),
            "H",
            "stop",
            COUNTED,
            id="running totals: the last counts",
        ),
        pytest.param(chunk({"content": "Hi"}) + DONE, "Hi", "stop", UNMETERED, id="closing mark only"),
        pytest.param(chunk({"content": "Hi"}, "length"), "Hi", "length", UNMETERED, id="finish reason only"),
        pytest.param(chunk({"content": "Hi"}, "stop").rstrip(), "Hi", "stop", UNMETERED, id="no blank line at the end"),
        pytest.param(
            chunk({"content": "Hi"}, "stop") + DONE + b"data: junk\n\n", "Hi", "stop", UNMETERED, id="junk after the end"
        ),
        pytest.param(b"data:\n\n" + chunk({"content": "Hi"}, "stop"), "Hi", "stop", UNMETERED, id="empty data"),
        pytest.param(chunk({"refusal": "No."}) + chunk({}, "stop"), "No.", "refused", UNMETERED, id="refusal"),
        pytest.param(
            b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\ude42"}}]}\n\n'
            + DONE,
            "🙂",
            "stop",
            UNMETERED,
            id="one character in two chunks",
        ),
        pytest.param(
            b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n' + DONE,
            "a\ufffd",
            "stop",
            UNMETERED,
            id="half a character",
        ),
        pytest.param(
            b'data: {"choices":[{"index":1,"delta":{"content":"no"}}]}\n\n' + chunk({"content": "yes"}, "stop"),
            "yes",
            "stop",
            UNMETERED,
            id="another choice",
        ),
    ],
)
def test_replies(raw: bytes, text: str, finish: str, usage: Usage) -> None:
    """Each field may come in any chunk, and the text pieces add up to the text."""
    pieces, reply = assembled(raw)

    assert (text, finish, usage) == (reply.text, reply.finish, reply.usage)
    assert text == "".join(piece.text for piece in pieces)


def test_think_blocks_stream_as_reasoning() -> None:
    """A leading think block is shown as reasoning while it arrives, and is no text."""
    pieces, reply = assembled(
        chunk({"content": "<thi"}) + chunk({"content": "nk>h"}) + chunk({"content": "m</think>\n\na"}, "stop")
    )

    assert [ReasoningPiece("h"), ReasoningPiece("m"), TextPiece("a")] == pieces
    assert (reply.text, reply.reasoning) == ("a", "hm")


@pytest.mark.parametrize(
    ("raw", "kind", "words"),
    [
        pytest.param(b"", Truncated, "without a finish reason", id="nothing"),
        pytest.param(chunk({"content": "The sum is"}), Truncated, "without a finish reason", id="no end"),
        pytest.param(b'data: {"error":{"message":"quota exceeded"}}\n\n' + DONE, Refused, "quota exceeded", id="error chunk"),
        pytest.param(
            chunk({"content": "a"})
            + b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n',
            Overloaded,
            "busy",
            id="error event",
        ),
        pytest.param(b'event: error\ndata: {"message":"m","code":500}\n\n', Overloaded, "m", id="bare error event"),
        pytest.param(b"data: {oops}\n\n", Garbled, "oops", id="no JSON"),
        pytest.param(chunk({"content": "a"}, "error"), Garbled, "'error'", id="failed generation"),
    ],
)
def test_no_reply(raw: bytes, kind: type[ModelError], words: str) -> None:
    """What is no reply is a typed error."""
    with pytest.raises(kind, match=words):
        assembled(raw)


def test_truncation_keeps_the_usage() -> None:
    """What a cut stream cost is kept, as far as it was told."""
    with pytest.raises(Truncated) as caught:
        assembled(chunk({"content": "a"}, usage=USAGE))
    assert COUNTED == caught.value.usage


CALL = {"index": 0, "id": "x", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("odd", "right"),
    [
        pytest.param(chunk({"content": "b"}, "length"), Reply(text="ab", finish="length", model="m"), id="the end"),
        pytest.param(chunk({"content": "b"}, usage=USAGE), Reply(text="ab", usage=COUNTED, model="m"), id="usage"),
        pytest.param(chunk({"content": "b", "reasoning": "r"}), Reply(text="ab", reasoning="r", model="m"), id="thought"),
        pytest.param(
            chunk({"role": "assistant", "content": "b", "refusal": None}), Reply(text="ab", model="m"), id="nothing more"
        ),
        pytest.param(chunk({"content": "", "refusal": "b"}), Reply(text="ab", finish="refused", model="m"), id="refusal"),
        pytest.param(chunk({"content": ["b"]}), Reply(text="ab", model="m"), id="parts"),
        pytest.param(chunk({"content": None}), Reply(text="a", model="m"), id="null"),
        pytest.param(
            chunk({"content": "b"}).replace(b'"index": 0', b'"index": 1'), Reply(text="a", model="m"), id="another choice"
        ),
        pytest.param(b'data: {"choices": []}\n\n', Reply(text="a", model="m"), id="no choice"),
        pytest.param(
            chunk({"content": "b", "tool_calls": [CALL]}),
            Reply(text="ab", calls=(ToolCall(id="x", name="f", arguments="{}"),), finish="tool_calls", model="m"),
            id="a call",
        ),
    ],
)
def test_what_comes_with_text_is_not_lost(odd: bytes, right: Reply) -> None:
    """Whatever else a chunk says beside its text counts, in the middle of a stream of nothing but text too."""
    pieces, reply = assembled(chunk({"content": "a"}) + odd + DONE)

    assert right == reply
    assert right.text == "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(chunk({"content": "b"}, error={"message": "overloaded", "code": 503}), id="beside the choices"),
        pytest.param(b"event: error\n" + chunk({"content": "b"}, message="overloaded", code=503), id="by the event's name"),
    ],
)
def test_an_error_beside_text_is_one(odd: bytes) -> None:
    """An error in the middle of a stream is raised, whatever text it comes with."""
    with pytest.raises(ModelError, match="overloaded"):
        assembled(chunk({"content": "a"}) + odd + DONE)
