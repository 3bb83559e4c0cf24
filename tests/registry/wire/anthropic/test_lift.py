"""Whole replies of the Messages API."""

import orjson
import pytest

from registry.errors import Garbled, ModelError, Overloaded
from registry.messages import Finish, Json, Reply, ToolCall
from registry.usage import UNMETERED, Usage
from registry.wire.anthropic.lift import lift
from registry.wire.anthropic.thoughts import Thought, placed

USAGE = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}


def answer(*content: Json, stop: Json = "end_turn", **fields: Json) -> bytes:
    return orjson.dumps({"type": "message", "model": "claude", "content": content, "stop_reason": stop, "usage": USAGE, **fields})


def lifted(body: bytes, taken: tuple[str, ...] = ()) -> Reply:
    return lift(body, endpoint="https://x", taken=taken)


def use(given: Json, **fields: Json) -> Json:
    return {"type": "tool_use", "id": "toolu_1", "name": "f", "input": given, **fields}


SAY = {"type": "text", "text": "né"}


def test_all_parts() -> None:
    """Texts and thoughts are joined each by itself, calls keep their order, and blocks that nobody knows are passed over."""
    content: list[Json] = [
        {"type": "thinking", "thinking": "hm ", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "thinking", "thinking": "so", "signature": "s"},
        SAY,
        {"type": "server_tool_use", "id": "s", "name": "web", "input": {"q": "x"}},
        use({"a": "ü"}),
        {"type": "text", "text": " 🙂"},
        use(None, id="toolu_2"),
    ]

    reply = lifted(answer(*content, stop="tool_use"))

    thoughts = [Thought(block=block, text=0, calls=0) for block in content[:3] if isinstance(block, dict)]
    assert thoughts == placed(reply.opaque, "https://x")
    assert ("né 🙂", "hm so", "tool_calls", "claude") == (reply.text, reply.reasoning, reply.finish, reply.model)
    assert (
        ToolCall(id="toolu_1", name="f", arguments='{"a":"ü"}'),
        ToolCall(id="toolu_2", name="f", arguments="{}"),
    ) == reply.calls


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        pytest.param("end_turn", "stop", id="end of turn"),
        pytest.param("stop_sequence", "stop", id="stop sequence"),
        pytest.param("tool_use", "stop", id="calls that are not there"),
        pytest.param("max_tokens", "length", id="cap"),
        pytest.param("model_context_window_exceeded", "length", id="window is full"),
        pytest.param("refusal", "refused", id="refusal"),
    ],
)
def test_endings(stop: str, finish: Finish) -> None:
    """Each word for an ending has its meaning."""
    assert finish == lifted(answer(SAY, stop=stop)).finish


@pytest.mark.parametrize("stop", ["pause_turn", "compaction"])
def test_endings_that_are_none(stop: str) -> None:
    """A turn that only pauses, or ends in a way that nobody knows, is no answer, but it was paid for."""
    with pytest.raises(Garbled, match=stop) as caught:
        lifted(answer(SAY, stop=stop))
    assert 1 == caught.value.usage.requests
    assert 135 == caught.value.usage.tokens


def test_usage_counts_what_was_cached() -> None:
    """The input includes what was read from the cache and written to it."""
    counted = Usage(requests=1, input_tokens=130, output_tokens=5, cache_read_tokens=100, cache_write_tokens=20)

    assert counted == lifted(answer(SAY)).usage
    assert UNMETERED == lifted(answer(SAY, usage=None)).usage


def test_thoughts_keep_their_places() -> None:
    """Where a thought stood is counted in characters and calls, whatever the text is made of."""
    thought: dict[str, Json] = {"type": "thinking", "thinking": "", "signature": "s"}
    body = answer(SAY, use({}), {"type": "text", "text": "X"}, thought, use({}, id="toolu_2"), stop="tool_use")

    reply = lifted(body.replace(b'"X"', rb'"\ud83d\ude42"'))

    assert [Thought(block=thought, text=3, calls=1)] == placed(reply.opaque, "https://x")
    assert "" == lifted(answer(SAY, {"type": "thinking", "thinking": "unsigned"})).opaque


def test_call_ids_are_new() -> None:
    """An id that the transcript has already is changed."""
    assert ["toolu_1_2"] == [call.id for call in lifted(answer(use({})), taken=("toolu_1",)).calls]


def test_long_numbers_stay_exact() -> None:
    """Integers of any length reach the tool as the model wrote them."""
    body = answer(use({"n": 1, "f": 0.5})).replace(b'"n":1', b'"n":123456789012345678901234567890')

    assert '{"n":123456789012345678901234567890,"f":0.5}' == lifted(body).calls[0].arguments


def test_half_characters_are_mended() -> None:
    """Half characters in escapes become whole ones, or the replacement mark."""
    body = answer({"type": "text", "text": "X"}, use({"a": "X"}, name="X")).replace(b"X", rb"\ud83d\ude42\ud83d")

    reply = lifted(body)

    assert ("🙂\ufffd", '{"a":"🙂\ufffd"}', "🙂\ufffd") == (reply.text, reply.calls[0].arguments, reply.calls[0].name)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        pytest.param(b"<html><title>Portal</title>", Garbled, "Portal", id="web page"),
        pytest.param(b"[1]", Garbled, "no object", id="list"),
        pytest.param(answer(use("X")).replace(b'"X"', b"[" * 300 + b"]" * 300), Garbled, "unreadable", id="too deep"),
        pytest.param(answer(use("X")).replace(b'"X"', b"[" * 9_000 + b"]" * 9_000), Garbled, "unreadable", id="much too deep"),
        pytest.param(answer(use("X")).replace(b'"X"', b"9" * 5_000), Garbled, "unreadable", id="a number of 5,000 digits"),
        pytest.param(b'{"choices":[]}', Garbled, "no content", id="another protocol"),
        pytest.param(b'{"type":"error","error":{"type":"overloaded_error","message":"up"}}', Overloaded, "up", id="error"),
    ],
)
def test_no_replies(body: bytes, kind: type[ModelError], words: str) -> None:
    """What is no reply is a typed error."""
    with pytest.raises(kind, match=words):
        lifted(body)
