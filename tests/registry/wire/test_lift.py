"""Whole answers become replies, in whatever dialect of the protocol they come."""

import json

import orjson
import pytest

from registry.errors import Garbled, ModelError, Overloaded
from registry.messages import Json, Reply, ToolCall
from registry.wire.lift import lift


def lifted(message: Json, *, finish: Json = "stop", taken: tuple[str, ...] = (), **fields: Json) -> Reply:
    body = {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **fields}
    return lift(orjson.dumps(body), endpoint="https://x", taken=taken)


def wire_call(name: str, arguments: Json = "{}", **fields: Json) -> Json:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **fields}


def call(name: str, arguments: str = "{}", *, as_id: str) -> ToolCall:
    return ToolCall(id=as_id, name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        pytest.param({"content": "hi"}, "hi", "", id="text"),
        pytest.param({"content": None}, "", "", id="null"),
        pytest.param({"role": "assistant", "refusal": None}, "", "", id="absent"),
        pytest.param({"content": [{"type": "text", "text": "a"}, "b", {"type": "image"}]}, "ab", "", id="parts"),
        pytest.param(
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}]},
            "a",
            "hm",
            id="thinking among the parts",
        ),
        pytest.param({"content": "a", "reasoning_content": "hm"}, "a", "hm", id="reasoning_content"),
        pytest.param({"content": "a", "reasoning": "hm"}, "a", "hm", id="reasoning"),
        pytest.param({"content": "a", "reasoning": "hm", "reasoning_content": "hm"}, "a", "hm", id="both, once"),
        pytest.param({"content": "<think>hm</think>\n\na"}, "a", "hm", id="think block"),
        pytest.param({"content": "The <think> tag."}, "The <think> tag.", "", id="talk about think"),
    ],
)
def test_text_and_reasoning(message: Json, text: str, reasoning: str) -> None:
    """What is said and what is thought come apart, wherever the endpoint puts them."""
    reply = lifted(message)

    assert (text, reasoning) == (reply.text, reply.reasoning)


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        pytest.param({"tool_calls": [wire_call("f", '{"a":1}', id="c1")]}, [call("f", '{"a":1}', as_id="c1")], id="one"),
        pytest.param({"tool_calls": None, "content": "a"}, [], id="null"),
        pytest.param({"tool_calls": [], "content": "a"}, [], id="none"),
        pytest.param(
            {"tool_calls": [wire_call("f", id=""), wire_call("g")]},
            [call("f", as_id="call_1"), call("g", as_id="call_2")],
            id="ids empty or absent",
        ),
        pytest.param(
            {"tool_calls": [wire_call("f", id="x"), wire_call("g", id="x")]},
            [call("f", as_id="x"), call("g", as_id="x_2")],
            id="one id twice",
        ),
        pytest.param({"tool_calls": [wire_call("f", id="old")]}, [call("f", as_id="old_2")], id="an id of the transcript"),
        pytest.param(
            {"tool_calls": [wire_call("f", {"a": 1}, id="c")]}, [call("f", '{"a":1}', as_id="c")], id="arguments as JSON"
        ),
        pytest.param({"tool_calls": [wire_call("f", "", id="c")]}, [call("f", as_id="c")], id="no arguments"),
        pytest.param({"tool_calls": [wire_call("f", None, id="c")]}, [call("f", as_id="c")], id="null arguments"),
        pytest.param({"tool_calls": [wire_call("f", "{bad", id="c")]}, [call("f", "{bad", as_id="c")], id="bad arguments stay"),
        pytest.param({"tool_calls": [wire_call("functions.f", id="c")]}, [call("f", as_id="c")], id="prefix"),
        pytest.param({"function_call": {"name": "f", "arguments": "{}"}}, [call("f", as_id="call_1")], id="older protocol"),
        pytest.param({"tool_calls": [{"id": "c", "name": "f", "arguments": {}}]}, [call("f", as_id="c")], id="flat"),
    ],
)
def test_calls(message: Json, calls: list[ToolCall]) -> None:
    """Every call comes out with an id that no other call has."""
    assert calls == list(lifted(message, taken=("old",)).calls)


@pytest.mark.parametrize(
    ("entry", "extra"),
    [
        pytest.param(wire_call("f", index=0), "", id="nothing"),
        pytest.param(
            wire_call("f", extra_content={"google": {"thought_signature": "AbC="}}),
            '{"extra_content":{"google":{"thought_signature":"AbC="}}}',
            id="beside the function",
        ),
        pytest.param(
            {"function": {"name": "f", "arguments": "{}", "é": [1, 0.5, None]}}, '{"function":{"é":[1,0.5,null]}}', id="within it"
        ),
        pytest.param(wire_call("f", extra=None), "", id="null says nothing"),
        pytest.param({"name": "f", "arguments": {}, "extra": False}, '{"extra":false}', id="flat"),
        pytest.param(wire_call("f", n=10**30), '{"n":1000000000000000000000000000000}', id="a long number"),
    ],
)
def test_what_only_the_endpoint_understands_of_a_call(entry: Json, extra: str) -> None:
    """What an entry holds beyond the protocol is kept as it came."""
    body = {"choices": [{"message": {"tool_calls": [entry]}, "finish_reason": "tool_calls"}]}

    assert [extra] == [call.extra for call in lift(json.dumps(body).encode(), endpoint="https://x").calls]


def test_long_numbers_stay_exact() -> None:
    """Arguments that come as JSON reach the tool as the model wrote them, with integers of any length."""
    body = (
        b'{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"n":123456789012345678901234567890}}}]}}]}'
    )

    assert '{"n":123456789012345678901234567890}' == lift(body, endpoint="https://x").calls[0].arguments


@pytest.mark.parametrize("levels", [300, 900, 9_000])
def test_what_is_too_deep_is_not_read(levels: int) -> None:
    """JSON that could not be written down again is garbled, wherever it is that deep."""
    deep = b"[" * levels + b"]" * levels
    for body in (deep, b'{"choices":[{"message":{"content":"a","tool_calls":[{"function":{"arguments":%s}}]}}]}' % deep):
        with pytest.raises(Garbled, match="unreadable"):
            lift(body, endpoint="https://x")


def test_what_is_merely_long_is_read() -> None:
    """Many brackets are not many levels."""
    said = "[{" * 9_000

    assert said == lifted({"content": said}, more=[[{}]] * 9_000).text


CALLS = {"content": None, "tool_calls": [wire_call("f", id="c")]}


@pytest.mark.parametrize(
    ("message", "word", "finish"),
    [
        pytest.param({"content": "a"}, "stop", "stop", id="stop"),
        pytest.param({"content": "a"}, "STOP", "stop", id="upper case"),
        pytest.param({"content": "a"}, None, "stop", id="null: the body is whole"),
        pytest.param({"content": "a"}, "length", "length", id="length"),
        pytest.param({"content": "a"}, "content_filter", "refused", id="filter"),
        pytest.param(CALLS, "brand_new", "tool_calls", id="calls under a new word"),
        pytest.param({"content": None, "refusal": "no"}, "brand_new", "refused", id="refusal under a new word"),
        pytest.param({"content": "a"}, "tool_calls", "stop", id="calls announced, none there"),
        pytest.param({"content": None, "refusal": "no"}, "stop", "refused", id="refusal"),
        pytest.param(CALLS, "tool_calls", "tool_calls", id="calls"),
        pytest.param(CALLS, "stop", "tool_calls", id="calls under stop"),
        pytest.param(CALLS, "length", "length", id="calls cut off"),
    ],
)
def test_finish(message: Json, word: Json, finish: str) -> None:
    """Calls count more than the word, a cut counts more than calls."""
    assert finish == lifted(message, finish=word).finish


def test_a_refusal_is_the_text() -> None:
    """A refusal without content is what the model said."""
    assert lifted({"content": None, "refusal": "I can't."}).text == "I can't."


def test_the_answering_model_is_named() -> None:
    """The reply says who answered, as the endpoint says it."""
    assert lifted({"content": "a"}, model="m-2025").model == "m-2025"


def test_null_error_is_none() -> None:
    """Some endpoints put a null error into every success."""
    assert lifted({"content": "fine"}, error=None).text == "fine"


def test_half_characters_are_mended() -> None:
    """An escape that the strict decoder refuses does not cost the reply."""
    body = rb'{"choices":[{"message":{"content":"a\ud83d b"},"finish_reason":"stop"}]}'

    assert lift(body, endpoint="https://x").text == "a\ufffd b"


def test_no_part_of_a_reply_is_half_a_character() -> None:
    """Names, ids and arguments are mended as the text is."""
    function = rb'{"name":"f\ud83d","arguments":{"\ud83d":100000000000000000000}}'
    entry = rb'{"id":"c\ud83d","function":' + function + rb"}"
    body = rb'{"model":"m\ud83d","choices":[{"message":{"tool_calls":[' + entry + rb']},"finish_reason":"stop"}]}'

    reply = lift(body, endpoint="https://x")

    assert reply.model == "m\ufffd"
    assert reply.calls == (ToolCall(id="c\ufffd", name="f\ufffd", arguments='{"\ufffd":100000000000000000000}'),)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        pytest.param(
            b"<!doctype html><title>Portal</title>", Garbled, "a web page: Portal; does the base URL lack", id="web page"
        ),
        pytest.param(b"", Garbled, "an empty body", id="empty"),
        pytest.param(b"[1]", Garbled, "no object", id="list"),
        pytest.param(b'{"object":"x"}', Garbled, "no choices", id="no choices"),
        pytest.param(b'{"choices":[]}', Garbled, "no choices", id="empty choices"),
        pytest.param(
            b'{"choices":null,"error":{"code":429,"message":"upstream"}}', Overloaded, "upstream", id="error in a success"
        ),
        pytest.param(
            b'{"choices":[{"message":{},"error":{"code":502,"message":"up"}}]}', Overloaded, "up", id="error in a choice"
        ),
        pytest.param(b'{"choices":[{"message":{},"finish_reason":"error"}]}', Garbled, "'error'", id="failed generation"),
        pytest.param(b'{"choices":[{"message":{},"finish_reason":"brand_new"}]}', Garbled, "'brand_new'", id="a new word"),
    ],
)
def test_no_reply(body: bytes, kind: type[ModelError], words: str) -> None:
    """A body without a reply is a typed error that says what came instead."""
    with pytest.raises(kind, match=words):
        lift(body, endpoint="https://x")
