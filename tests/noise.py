"""Noise: what models and endpoints might send, broken in whatever way a seeded die falls."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeVar

import httpx
import msgspec
from msgspec.structs import replace

from registry.anthropic import AnthropicModel
from registry.calls import NO_CALL
from registry.errors import ModelError
from registry.http import HttpDoor
from registry.messages import AssistantMessage, Json, Piece, Reply, Request, TextPiece, ToolMessage, ToolSpec, UserMessage
from registry.models.model import Model
from registry.openai import OpenAIModel
from registry.structured import Unreadable, extract_json

CORPUS = Path(__file__).parent / "corpus" / "data"
TOOLS = tuple(ToolSpec(name=name, description="", parameters={}) for name in ("f", "g/h"))
ASK = Request(messages=(UserMessage(text="hi"),), tools=TOOLS)
SCHEMAS: tuple[dict[str, Json] | None, ...] = (
    None,
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "array"}}, "required": ["a"]},
    {"type": "array", "items": {"type": "object"}},
    {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "number"}}]},
)
TOKENS: tuple[str, ...] = (
    *"{}[]\"':,\\\n\t 0-.eE/*#`<>",
    *("true", "None", "NaN", "1e999", "12345678901234567890", '"a"', '{"a":', '\\"', "\\u", "\\ud83d", "```json\n", "```"),
    *("//", "<think>", "</think>", "é", "🙂", "\ud800", "\u2028", "\x00", "\ufeff", "“", "”", "word", "data: ", '"b": [1, 2]'),
)
STREAM_TOKENS = tuple(
    token.encode("utf-8", "surrogatepass") for token in (*TOKENS, "event: error\n", ": ping\n\n", "\r", "data: [DONE]\n\n")
)
DEEP = "deep"
DEPTHS = tuple("[" * depth + "]" * depth for depth in (100, 240, 300, 900, 1_000, 50_000))
BEGINNINGS = ("[", "{", '{"a":', "[{", '"', "```", "<think>", "\\", "(", "'", "{'a': \"")
VALUES: tuple[Json, ...] = (
    *(None, True, False, 0, -1, 1e300, 10**30, float("inf"), float("nan"), "", "x", "<think>", "\ud83d", "\ude42", "²", "12s"),
    *(
        "stop",
        "error",
        "length",
        DEEP,
        "null",
        "9" * 5_000,
        "x" * 5_000,
        [],
        {},
        [None],
        [[]],
        [{}],
        {"": None},
        {"\ud83d": [10**30]},
    ),
)
DONE = "[DONE]"
MEDIA = ("text/event-stream", "text/event-stream", "text/event-stream", "application/json", "text/plain")

S = TypeVar("S", str, bytes)


def _lines(name: str) -> list[Json]:
    return [json.loads(line) for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


TEXTS: tuple[str, ...] = tuple(case["check"]["raw"] for case in _lines("kind_a.jsonl"))


def _chunk(delta: Json, finish: str | None = None, **fields: Json) -> str:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return json.dumps({"id": "c", "model": "m", "choices": choices, "usage": None, **fields}, ensure_ascii=False)


def _call(index: int, arguments: str, **said: str) -> Json:
    return {"tool_calls": [{"index": index, **said, "function": {"name": said.get("name"), "arguments": arguments}}]}


CALLED: Json = {"id": "x", "function": {"name": "g_h", "arguments": {"a": [1]}, "n": 1}, "extra": {"by": {"sig": "AbC="}}}
STREAMS: tuple[tuple[str, ...], ...] = (
    (
        _chunk({"role": "assistant", "content": "", "refusal": None}),
        *(_chunk({"content": piece}) for piece in ("<thi", "nk>hm", "</think>", " né ", "🙂", "end")),
        _chunk({}, "stop"),
        json.dumps({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}),
        DONE,
    ),
    (
        _chunk({"reasoning_content": "hm"}),
        _chunk({"content": [{"type": "thinking", "thinking": "so"}, {"type": "text", "text": "a"}]}),
        _chunk(_call(0, '{"a":', id="x", name="f")),
        _chunk(_call(0, '"b"}')),
        _chunk(_call(1, "{}", id="y", name="g")),
        _chunk({}, "tool_calls", usage={"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 9}),
        DONE,
    ),
    (
        _chunk({"tool_calls": [CALLED]}),
        _chunk({}, "tool_calls"),
        DONE,
    ),
    (_chunk({"content": "a"}), json.dumps({"error": {"message": "busy", "type": "overloaded_error", "code": 529}})),
    *(tuple(case["input"]["sse_data"]) for case in _lines("kind_b.jsonl") if "sse_data" in case["input"]),
)


def _event(kind: str, **fields: Json) -> str:
    return json.dumps({"type": kind, **fields}, ensure_ascii=False)


def _block(index: int, begun: Json, *deltas: Json) -> tuple[str, ...]:
    grown = (_event("content_block_delta", index=index, delta=delta) for delta in deltas)
    return (_event("content_block_start", index=index, content_block=begun), *grown, _event("content_block_stop", index=index))


_COST: Json = {"input_tokens": 10, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 90, "output_tokens": 2}
_STARTED = _event("message_start", message={"type": "message", "model": "m", "content": [], "usage": _COST})
_STOPPED = _event("message_stop")


def _ended(why: str) -> str:
    return _event("message_delta", delta={"stop_reason": why, "stop_sequence": None}, usage={"output_tokens": 15})


ANTHROPIC_STREAMS: tuple[tuple[str, ...], ...] = (
    (
        _STARTED,
        _event("ping"),
        *_block(0, {"type": "text", "text": ""}, *({"type": "text_delta", "text": part} for part in (" né ", "🙂", "end"))),
        _ended("end_turn"),
        _STOPPED,
    ),
    (
        _STARTED,
        *_block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "hm é"},
            {"type": "signature_delta", "signature": "c2ln"},
        ),
        *_block(1, {"type": "redacted_thinking", "data": "ZGF0YQ"}),
        *_block(2, {"type": "text", "text": "so"}),
        *_block(
            3,
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
            *({"type": "input_json_delta", "partial_json": part} for part in ("", '{"a":', ' "b"}')),
        ),
        *_block(4, {"type": "thinking", "thinking": "more", "signature": "c2ln"}),
        *_block(5, {"type": "tool_use", "id": "toolu_2", "name": "g_h", "input": {"a": [1, {"b": None}]}}),
        _ended("tool_use"),
        _STOPPED,
    ),
    (_STARTED, _event("error", error={"type": "overloaded_error", "message": "Overloaded"})),
)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A protocol's model, and good answers of its endpoints: the data of events, and bodies of one piece."""

    model: Callable[..., Model]
    streams: Sequence[Sequence[str]]
    wholes: Sequence[str]


def _whole(message: Json, finish: str) -> str:
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return json.dumps({"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage})


OPENAI = Protocol(
    model=partial(OpenAIModel, "m", model="m", base_url="https://x/v1", api_key=None),
    streams=STREAMS,
    wholes=(
        _whole({"content": "<think>hm</think> né 🙂", "refusal": None}, "stop"),
        _whole({"content": [{"type": "text", "text": "a"}], "reasoning": "hm", "tool_calls": [CALLED]}, "tool_calls"),
        _whole({"function_call": {"name": "f", "arguments": '{"a": 1}'}}, "function_call"),
    ),
)
ANTHROPIC = Protocol(
    model=partial(AnthropicModel, "m", model="m", base_url="https://x", api_key=None, thinking=1024),
    streams=ANTHROPIC_STREAMS,
    wholes=tuple(
        _event("message", model="m", content=content, stop_reason=stop, usage=_COST)
        for stop, content in (
            ("end_turn", [{"type": "text", "text": " né "}, {"type": "text", "text": "🙂"}]),
            (
                "tool_use",
                [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "ZGF0YQ"},
                    {"type": "text", "text": "so"},
                    {"type": "tool_use", "id": "toolu_1", "name": "g_h", "input": {"a": [1, {"b": None}]}},
                ],
            ),
        )
    ),
)


def noisy_text(die: Random) -> str:
    """A text of odd tokens, or a public one with some damage."""
    if die.random() < 0.3:
        return "".join(die.choices(TOKENS, k=die.choice((3, 30, 300, 3_000))))
    if die.random() < 0.05:
        return die.choice(BEGINNINGS) * die.choice((50, 5_000, 30_000))
    return _damaged(die.choice(TEXTS), die, die.choice(TEXTS), TOKENS)


def noisy_answer(die: Random, protocol: Protocol) -> tuple[list[bytes], str]:
    """The reads of an answer and its media type: a known one with values changed, its bytes damaged, and cut anywhere."""
    if die.random() < 0.2:
        text, media = _changed(die.choice(protocol.wholes), die), "application/json"
    else:
        text, media = _noisy_events(die.choice(protocol.streams), die), die.choice(MEDIA)
    raw = text.encode("utf-8", "surrogatepass")
    if die.random() < 0.6:
        raw = _damaged(raw, die, raw, STREAM_TOKENS)
    cuts = sorted(die.randrange(len(raw) + 1) for _ in range(die.randrange(8)))
    return [raw[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True)], media


def _noisy_events(stream: Sequence[str], die: Random) -> str:
    data = [_changed(each, die) if die.random() < 0.3 else each for each in stream]
    if die.random() < 0.3:
        die.shuffle(data)
    end = die.choice(("\n\n", "\r\n\r\n", "\r\r"))
    return "".join(f"data: {each}{end}" for each in data)


def read_text(text: str, die: Random) -> str:
    """What `extract_json` makes of it, in a word. Raises whatever it must not."""
    found = extract_json(text, die.choice(SCHEMAS))
    if isinstance(found, Unreadable):
        found.message.encode("utf-8", "surrogatepass")
        return str(found.why)
    json.dumps(found.value)
    return "extracted"


class Reads(httpx.AsyncByteStream):
    """A body that arrives in these reads."""

    def __init__(self, reads: list[bytes]) -> None:
        self._left = iter(reads)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return next(self._left)
        except StopIteration:
            raise StopAsyncIteration from None


async def read_answer(reads: list[bytes], media: str, protocol: Protocol) -> str:
    """What `stream_chat` makes of an answer that arrives so, in a word. Raises whatever it must not."""
    model = protocol.model(door=answering(media, reads))
    try:
        pieces = [piece async for piece in model.stream_chat(ASK, NO_CALL)]
    except ModelError as error:
        str(error).encode()
        return type(error).__name__
    check_pieces(pieces)
    await check_it_goes_back(pieces[-1], protocol)
    return "Reply"


def answering(media: str, reads: list[bytes]) -> HttpDoor:
    return HttpDoor(httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-type": media}, stream=Reads(reads))))


def check_pieces(pieces: list[Piece]) -> None:
    """The reply comes last, is what the pieces said, and can be written down."""
    *said, reply = pieces
    assert isinstance(reply, Reply)
    assert reply.text == "".join(piece.text for piece in said if isinstance(piece, TextPiece))
    for text in (reply.text, reply.reasoning, reply.model, *(call.id + call.name + call.arguments for call in reply.calls)):
        text.encode()
    assert len({call.id for call in reply.calls}) == len(reply.calls)
    assert all(0 <= count < 2**63 for count in (reply.usage.input_tokens, reply.usage.output_tokens))


async def check_it_goes_back(reply: Piece, protocol: Protocol) -> None:
    """The reply survives being written down, and can be part of the next request."""
    assert isinstance(reply, Reply)
    assert reply == msgspec.json.decode(msgspec.json.encode(reply), type=Reply)
    said = AssistantMessage(text=reply.text, calls=reply.calls, reasoning=reply.reasoning, opaque=reply.opaque)
    results = (ToolMessage(call_id=call.id, name=call.name, text="") for call in reply.calls)
    with contextlib.suppress(ModelError):
        await protocol.model(door=answering("application/json", [b"{}"])).chat(
            replace(ASK, messages=(*ASK.messages, said, *results)), NO_CALL
        )


def _changed(data: str, die: Random) -> str:
    """One chunk with some of its values replaced by others, of any type."""
    try:
        value = json.loads(data)
    except ValueError:
        return data
    for _ in range(die.randrange(1, 4)):
        places = list(_places(value))
        if places:
            holder, key = die.choice(places)
            holder[key] = deepcopy(die.choice(VALUES))
    return json.dumps(value, ensure_ascii=die.random() < 0.5).replace(f'"{DEEP}"', die.choice(DEPTHS))


def _places(value: Json) -> Iterator[tuple[Json, Json]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield value, key
        yield from _places(inner)


def _damaged(whole: S, die: Random, other: S, tokens: Sequence[S]) -> S:
    """Some spans of it cut out, doubled, moved, replaced by tokens or by a part of the other."""
    for _ in range(die.choice((1, 1, 2, 4, 8))):
        start, stop = sorted((die.randrange(len(whole) + 1), die.randrange(len(whole) + 1)))
        stop = min(stop, start + die.choice((0, 1, 4, 40)))
        place = die.randrange(len(whole) + 1)
        match die.randrange(6):
            case 0:
                whole = whole[:start] + whole[stop:]
            case 1:
                whole = whole[:stop] + whole[start:stop] * die.choice((1, 2, 50)) + whole[stop:]
            case 2:
                whole = whole[:place] + whole[start:stop] + whole[place:]
            case 3:
                whole = whole[:start] + die.choice(tokens) + whole[stop:]
            case 4:
                whole = whole[:place] + other[start:]
            case _:
                whole = whole[: max(place, 1)]
    return whole
