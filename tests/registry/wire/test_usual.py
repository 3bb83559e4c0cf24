"""Answers in the usual form are read by their type, and mean what a careful reader makes of them."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import ModelError
from registry.messages import Json, Reply
from registry.wire.lift import lift
from registry.wire.usual import usual

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def answer(message: Json, **fields: Json) -> bytes:
    return orjson.dumps({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **fields})


@pytest.mark.parametrize(
    ("body", "is_usual"),
    [
        pytest.param(answer({"role": "assistant", "content": "hi", "refusal": None}), True, id="text"),
        pytest.param(answer({"content": None, "tool_calls": [CALL]}), True, id="calls"),
        pytest.param(answer({"content": "hi", "reasoning_content": "hm"}), True, id="thoughts"),
        pytest.param(answer({"content": "hi"}, usage=None, error=None), True, id="null"),
        pytest.param(answer({"content": "hi"}, unheard_of=[{}]), True, id="more than we know"),
        pytest.param(answer({"content": "hi"}, usage={"prompt_tokens": "5"}), False, id="no counts"),
        pytest.param(answer({"content": "hi"}, error={"message": "no"}), False, id="an error"),
        pytest.param(answer({"content": ["hi"]}), False, id="parts"),
        pytest.param(answer({"function_call": CALL["function"]}), False, id="older protocol"),
        pytest.param(answer({"tool_calls": [{**CALL, "signature": "s"}]}), False, id="more of a call"),
        pytest.param(
            answer({"tool_calls": [{**CALL, "function": {"name": "f", "arguments": {}}}]}), False, id="arguments as JSON"
        ),
        pytest.param(orjson.dumps({"choices": []}), False, id="no choice"),
        pytest.param(orjson.dumps({"choices": [{"index": 1, "message": {}}]}), False, id="another choice"),
        pytest.param(rb'{"choices":[{"message":{"content":"a\ud83d"}}]}', False, id="half a character"),
        pytest.param(b'{"choices":[{"message":{"content":"\xff"}}]}', False, id="no UTF-8"),
        pytest.param(b'{"choices":[{"message":{"x":' + b"[" * 9_000 + b"]" * 9_000 + b"}}]}", False, id="too deep"),
        pytest.param(b"oops", False, id="no JSON"),
    ],
)
def test_what_is_usual(body: bytes, is_usual: bool) -> None:
    """What needs more care than a look at its type is left to those who take it."""
    assert is_usual == (usual(body) is not None)


texts = st.sampled_from(["", " ", "hi", "<think>hm</think> so", "\u00e9\U0001f600", " functions.f ", "{}", "{bad"])
calls = st.fixed_dictionaries(
    {"id": texts, "function": st.fixed_dictionaries({"name": texts, "arguments": texts})},
    optional={"type": st.just("function"), "index": st.integers(0, 2)},
)
counts = st.one_of(st.none(), st.integers(0, 20))
details = st.one_of(st.none(), st.dictionaries(st.sampled_from(["cached_tokens", "reasoning_tokens"]), counts))
usages = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(["prompt_tokens", "completion_tokens", "total_tokens"], counts),
        **dict.fromkeys(["prompt_tokens_details", "completion_tokens_details"], details),
    },
)
messages = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(["content", "refusal", "reasoning", "reasoning_content"], st.one_of(st.none(), texts)),
        "tool_calls": st.one_of(st.none(), st.lists(calls, max_size=3)),
    },
)


def lifted(body: dict[str, Any]) -> Reply | str:
    try:
        return lift(orjson.dumps(body), endpoint="https://x", taken=("c", "hi"))
    except ModelError as error:
        return str(error)


@given(
    messages, st.one_of(st.none(), usages), st.sampled_from(["stop", "tool_calls", "length", "content_filter", "", None, "odd"])
)
def test_both_readers_agree(message: Json, usage: Json, finish: Json) -> None:
    """An answer means the same whoever reads it. An empty error is none, but nothing that the quick one knows."""
    body = {"model": "m", "usage": usage, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    with_care = {**body, "error": ""}

    assert usual(orjson.dumps(body)) is not None
    assert usual(orjson.dumps(with_care)) is None
    assert lifted(body) == lifted(with_care)
