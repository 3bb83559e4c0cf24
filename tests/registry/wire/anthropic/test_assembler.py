"""Streams of the Messages API become pieces and one reply."""

import json

import pytest

from registry.errors import Garbled, Overloaded, Truncated, Unreachable
from registry.messages import Json, ReasoningPiece, Reply, TextPiece, ToolCall
from registry.usage import UNMETERED, Usage
from registry.wire.anthropic.assembler import Assembler
from registry.wire.anthropic.thoughts import Thought, kept, placed
from registry.wire.thinking import Pieces


def event(kind: str, **fields: Json) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def block(index: int, begun: Json, *deltas: Json) -> bytes:
    grown = b"".join(event("content_block_delta", index=index, delta=delta) for delta in deltas)
    return event("content_block_start", index=index, content_block=begun) + grown + event("content_block_stop", index=index)


def said(text: str) -> Json:
    return {"type": "text_delta", "text": text}


def part(text: str) -> Json:
    return {"type": "input_json_delta", "partial_json": text}


def signature(text: str) -> Json:
    return {"type": "signature_delta", "signature": text}


def use(name: str, given: Json = None) -> Json:
    return {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": given or {}}


USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 90, "output_tokens": 2}
START = event("message_start", message={"type": "message", "model": "claude", "content": [], "usage": USAGE})
TEXT: Json = {"type": "text", "text": ""}
ENDED = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 15})
STOP = event("message_stop")
COST = Usage(requests=1, input_tokens=100, output_tokens=15, cache_read_tokens=90)


def assembled(raw: bytes, *, taken: tuple[str, ...] = ()) -> tuple[Pieces, Reply]:
    assembler = Assembler("https://x", taken)
    pieces = assembler.read(raw)
    held, reply = assembler.reply()
    return [*pieces, *held], reply


def test_all_parts() -> None:
    """Text and thoughts come as pieces, arguments are joined, signatures are kept, and pings say nothing."""
    thinking: list[Json] = [{"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "s"}]
    raw = (
        START
        + event("ping")
        + block(0, {"type": "thinking", "thinking": "", "signature": ""}, *thinking)
        + block(1, TEXT, said("né "), said("🙂"))
        + block(2, use("f"), part(""), part('{"a"'), part(': "ü"}'))
        + block(3, use("g"))
        + event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 15})
        + STOP
    )

    pieces, reply = assembled(raw)

    calls = (
        ToolCall(id="toolu_f", name="f", arguments='{"a": "ü"}'),
        ToolCall(id="toolu_g", name="g", arguments="{}"),
    )
    assert [ReasoningPiece("hm"), TextPiece("né "), TextPiece("🙂")] == pieces
    opaque = kept([Thought(block={"type": "thinking", "thinking": "hm", "signature": "s"}, text=0, calls=0)], "https://x")
    expected = Reply(text="né 🙂", reasoning="hm", calls=calls, finish="tool_calls", usage=COST, model="claude", opaque=opaque)
    assert expected == reply


def test_thoughts_are_kept_for_the_endpoint() -> None:
    """Thoughts are put together as they came, each with its place; one that lost its signature can't go back."""
    parts: list[Json] = [{"type": "thinking_delta", "thinking": part} for part in ("h", "\ud83d", "\ude42")]
    hidden: dict[str, Json] = {"type": "redacted_thinking", "data": "ZGF0YQ"}
    raw = (
        START
        + block(0, {"type": "thinking", "thinking": "", "signature": "", "new": 1}, *parts, signature("c2"), signature("ln"))
        + block(1, TEXT, said("né"))
        + block(2, hidden)
        + block(3, use("f"))
        + block(4, {"type": "thinking", "thinking": "whole", "signature": "c2ln"})
        + block(5, {"type": "thinking", "thinking": "lost"})
        + ENDED
        + STOP
    )

    pieces, reply = assembled(raw)

    whole: dict[str, Json] = {"type": "thinking", "signature": "c2ln"}
    assert [
        Thought(block={**whole, "thinking": "h🙂", "new": 1}, text=0, calls=0),
        Thought(block=hidden, text=2, calls=0),
        Thought(block={**whole, "thinking": "whole"}, text=2, calls=1),
    ] == placed(reply.opaque, "https://x")
    assert "h🙂wholelost" == reply.reasoning == "".join(piece.text for piece in pieces if isinstance(piece, ReasoningPiece))


def test_half_characters_wait_for_their_other_half() -> None:
    """A character whose halves come in two events is whole, in the pieces and in the reply; a lone half is replaced."""
    pieces, reply = assembled(START + block(0, TEXT, said("a\ud83d"), said("\ude42"), said("\ud83d")) + ENDED + STOP)

    assert [TextPiece("a"), TextPiece("🙂"), TextPiece("\ufffd")] == pieces
    assert "a🙂\ufffd" == reply.text


@pytest.mark.parametrize("index", [None, [], {}, 1.5, True, "0"])
def test_indices_of_any_kind(index: Json) -> None:
    """An index that is no number breaks nothing: one block at a time can do without."""
    begun = event("content_block_start", index=index, content_block=use("f"))
    raw = START + begun + event("content_block_delta", index=index, delta=part('{"a":1}')) + ENDED + STOP

    assert '{"a":1}' == assembled(raw)[1].calls[0].arguments


def test_blocks_may_be_interleaved() -> None:
    """The index says whose a fragment is, not the order."""
    starts = [event("content_block_start", index=index, content_block=use(name)) for index, name in enumerate("fg")]
    grows = [(0, '{"a":'), (1, '{"b":'), (0, "1}"), (1, "2}")]
    deltas = [event("content_block_delta", index=index, delta=part(text)) for index, text in grows]

    _, reply = assembled(b"".join([START, *starts, *deltas, ENDED, STOP]))

    assert [("f", '{"a":1}'), ("g", '{"b":2}')] == [(call.name, call.arguments) for call in reply.calls]


def test_long_numbers_stay_exact() -> None:
    """Integers of any length reach the tool as the model wrote them, wherever they stand."""
    raw = START + block(0, use("f", {"n": 10**30})) + block(1, use("g"), part(f'{{"n":{10**30}}}')) + ENDED + STOP

    assert ['{"n":1000000000000000000000000000000}'] * 2 == [call.arguments for call in assembled(raw)[1].calls]


def test_blocks_may_begin_with_what_they_say() -> None:
    """Servers that put all of a block into its beginning are understood."""
    raw = START + block(0, {"type": "text", "text": "hello"}) + block(1, use("f", {"a": 1})) + ENDED + STOP

    pieces, reply = assembled(raw)

    assert [TextPiece("hello")] == pieces
    assert '{"a":1}' == reply.calls[0].arguments


def test_call_ids_are_new() -> None:
    """An id that the transcript has already is changed."""
    _, reply = assembled(START + block(0, use("f")) + ENDED + STOP, taken=("toolu_f",))

    assert "toolu_f_2" == reply.calls[0].id


@pytest.mark.parametrize(
    ("ended", "usage"),
    [
        pytest.param({"output_tokens": 15}, COST, id="output alone"),
        pytest.param({**USAGE, "output_tokens": 15}, COST, id="everything again"),
        pytest.param({"input_tokens": 0, "output_tokens": 15}, COST, id="a zero is no news"),
        pytest.param(None, Usage(requests=1, input_tokens=100, output_tokens=2, cache_read_tokens=90, unmetered=1), id="nothing"),
    ],
)
def test_usage(ended: Json, usage: Usage) -> None:
    """The counts at the end are totals; without them those of the beginning are a lower bound."""
    raw = START + block(0, TEXT, said("a")) + event("message_delta", delta={"stop_reason": "end_turn"}, usage=ended) + STOP

    assert usage == assembled(raw)[1].usage


def test_state() -> None:
    """A reply has begun with its first piece and is done with its mark; what comes later is nothing."""
    assembler = Assembler("https://x")

    assembler.read(START)
    assert (False, False, False) == (assembler.begun, assembler.complete, assembler.done)
    assembler.read(block(0, TEXT, said("a")) + ENDED)
    assert (True, False, False) == (assembler.begun, assembler.complete, assembler.done)
    assert [] == assembler.read(STOP + block(1, TEXT, said("b")))
    assert (True, True, True) == (assembler.begun, assembler.complete, assembler.done)


def test_streams_without_their_end() -> None:
    """A reply that began is truncated, and its cost so far is a lower bound; one that never began may be asked for again."""
    with pytest.raises(Truncated, match="message_stop") as caught:
        assembled(START + block(0, TEXT, said("a")))
    assert 102 == caught.value.usage.tokens
    assert not caught.value.usage.exact
    with pytest.raises(Unreachable):
        assembled(START)
    with pytest.raises(Unreachable):
        assembled(b"")


def test_the_last_event_may_lack_its_blank_line() -> None:
    """An end mark that is whole counts; half of one does not."""
    raw = START + block(0, TEXT, said("a")) + ENDED

    assert "a" == assembled(raw + STOP.rstrip())[1].text
    with pytest.raises(Truncated):
        assembled(raw + STOP[:-8])


def test_unreadable_events() -> None:
    """An event that is no JSON, though it is whole, is an error; an empty one, an unknown one and a bare value are not."""
    assert [] == Assembler("https://x").read(b"data: \n\ndata: 7\n\n" + event("novelty", delta=1))
    with pytest.raises(Garbled, match="oops"):
        Assembler("https://x").read(b"data: oops\n\n")


def test_errors_inside() -> None:
    """An error ends the stream, at the cost of what was reported before."""
    failed = event("error", error={"type": "overloaded_error", "message": "Overloaded"})

    with pytest.raises(Overloaded, match="Overloaded") as late:
        Assembler("https://x").read(START + block(0, TEXT, said("a")) + failed)
    with pytest.raises(Overloaded) as early:
        Assembler("https://x").read(failed)

    assert 102 == late.value.usage.tokens
    assert UNMETERED == early.value.usage


def test_a_paused_turn() -> None:
    """A turn that only pauses is no answer."""
    paused = event("message_delta", delta={"stop_reason": "pause_turn"}, usage={"output_tokens": 1})

    with pytest.raises(Garbled, match="pause_turn"):
        assembled(START + block(0, TEXT, said("a")) + paused + STOP)
