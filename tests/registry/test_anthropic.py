"""Models behind the Messages API. What they share with all others is in tests/contracts."""

import httpx
import orjson
import pytest
from msgspec.structs import replace
from pydantic import SecretStr

from registry.anthropic import AnthropicModel
from registry.calls import NO_CALL
from registry.errors import Refused
from registry.http import HttpDoor
from registry.messages import (
    AssistantMessage,
    Json,
    Reply,
    Request,
    ResponseFormat,
    TextPiece,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.usage import Usage
from tests.registry.servers import chunked, response, serving

pytestmark = pytest.mark.anyio

ASK = Request(messages=(UserMessage(text="hi"),))
BODY = {
    "type": "message",
    "model": "claude-1",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 1},
}
HELLO = Reply(text="hello", usage=Usage(requests=1, input_tokens=3, output_tokens=1), model="claude-1")


class Endpoint:
    """Answers each request with `BODY` and keeps what it heard."""

    def __init__(self) -> None:
        self.heard: list[httpx.Request] = []
        self.door = HttpDoor(httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.heard.append(request)
        return httpx.Response(200, json=BODY)

    @property
    def body(self) -> Json:
        return orjson.loads(self.heard[-1].content)


async def test_a_request() -> None:
    """A chat sends one request, with key, version and cap, and returns the reply."""
    endpoint = Endpoint()
    model = AnthropicModel("x:m", model="m", api_key=SecretStr(" sk-secret\n"), door=endpoint.door)

    assert HELLO == await model.chat(ASK, NO_CALL)

    (sent,) = endpoint.heard
    assert "https://api.anthropic.com/v1/messages" == str(sent.url)
    assert ("sk-secret", "2023-06-01") == (sent.headers["x-api-key"], sent.headers["anthropic-version"])
    assert ("application/json", None) == (sent.headers["content-type"], sent.headers.get("authorization"))
    assert ("m", 4096) == (endpoint.body["model"], endpoint.body["max_tokens"])


async def test_options() -> None:
    """Headers, cap and thinking are the caller's to choose; without a key none is sent."""
    endpoint = Endpoint()
    headers = {"anthropic-version": "2030-01-01", "authorization": "Bearer b"}
    model = AnthropicModel("x:m", model="m", api_key=None, door=endpoint.door, headers=headers, max_output=10, thinking=1024)

    await model.chat(ASK, NO_CALL)

    sent = endpoint.heard[0].headers
    assert ("2030-01-01", "Bearer b", None) == (sent["anthropic-version"], sent["authorization"], sent.get("x-api-key"))
    assert 1034 == endpoint.body["max_tokens"]


@pytest.mark.parametrize("base", ["https://x", "https://x/", "https://x/v1", " https://x/v1/messages"])
async def test_base_urls(base: str) -> None:
    """The base URL may hold some of the path already."""
    endpoint = Endpoint()

    await AnthropicModel("x:m", model="m", base_url=base, api_key=None, door=endpoint.door).chat(ASK, NO_CALL)

    assert "https://x/v1/messages" == str(endpoint.heard[0].url)


async def test_what_cannot_be_said_is_not_sent() -> None:
    """A response format is refused here, streamed or not."""
    endpoint = Endpoint()
    model = AnthropicModel("x:m", model="m", api_key=None, door=endpoint.door)
    request = Request(messages=ASK.messages, response_format=ResponseFormat())

    with pytest.raises(Refused):
        await model.chat(request, NO_CALL)
    with pytest.raises(Refused):
        await anext(model.stream_chat(request, NO_CALL))
    assert [] == endpoint.heard


async def test_what_a_model_is() -> None:
    """It has the shape of a Model, keeps deadlines, and can call tools but promise no JSON, unless it is told otherwise."""
    plain: Model = AnthropicModel("x:m", model="m", api_key=None, door=HttpDoor())
    told: Model = AnthropicModel("x:m", model="m", api_key=None, door=HttpDoor(), abilities={}, context_window=8)

    assert ("x:m", {"tool_call": True}, None) == (plain.name, plain.abilities, plain.context_window)
    assert ({}, 8) == (told.abilities, told.context_window)
    assert ModelLayer(plain).punctual


def event(kind: str, **fields: Json) -> bytes:
    return f"event: {kind}\ndata: ".encode() + orjson.dumps({"type": kind, **fields}) + b"\n\n"


EVENTS = [
    event("message_start", message={"model": "claude-1", "usage": {"input_tokens": 3, "output_tokens": 1}}),
    event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": "hel"}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": "lo"}),
    event("content_block_stop", index=0),
    event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1}),
    event("message_stop"),
]


THINKING = {"type": "thinking", "thinking": "hm é", "signature": "c2ln+/="}
USE = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {}}
LOOK_UP = ToolSpec(name="look/up", description="", parameters={})
CALLING = {**BODY, "content": [THINKING, USE], "stop_reason": "tool_use"}
CALLING_EVENTS = [
    EVENTS[0],
    event("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""}),
    *(event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": part}) for part in ("hm", " é")),
    *(event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": part}) for part in ("c2ln", "+/=")),
    event("content_block_start", index=1, content_block=USE),
    event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 1}),
    event("message_stop"),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_thinking_goes_on_amid_calls(stream: bool) -> None:
    """The thoughts of a reply with calls go back as they came, and the model may think on."""
    heard: list[Json] = []

    def answer(request: httpx.Request) -> httpx.Response:
        heard.append(orjson.loads(request.content))
        if stream:
            return httpx.Response(200, content=b"".join(CALLING_EVENTS), headers={"content-type": "text/event-stream"})
        return httpx.Response(200, json=CALLING)

    model = AnthropicModel("x:m", model="m", api_key=None, door=HttpDoor(httpx.MockTransport(answer)), thinking=1024)
    request = Request(messages=ASK.messages, tools=(LOOK_UP,))
    for _ in range(2):
        *_, reply = [piece async for piece in model.stream_chat(request, NO_CALL)]
        assert isinstance(reply, Reply)
        assert ["look/up"] == [call.name for call in reply.calls]
        results = [ToolMessage(call_id=call.id, name=call.name, text="so") for call in reply.calls]
        request = replace(
            request,
            messages=(*request.messages, AssistantMessage(text=reply.text, calls=reply.calls, opaque=reply.opaque), *results),
        )
    [piece async for piece in model.stream_chat(request, NO_CALL)]

    _, _, body = heard
    assert {"type": "enabled", "budget_tokens": 1024} == body["thinking"]
    assert [[THINKING, USE], [THINKING, {**USE, "id": "toolu_1_2"}]] == [
        turn["content"] for turn in body["messages"] if turn["role"] == "assistant"
    ]


@pytest.mark.real_clock
async def test_over_a_socket() -> None:
    """Chat and stream work over a real socket, and share its connection."""

    def script(request: bytes) -> list[bytes]:
        return chunked(*EVENTS) if b'"stream":true' in request else [response(orjson.dumps(BODY))]

    async with serving(script) as server, HttpDoor() as door:
        model = AnthropicModel("x:m", model="m", base_url=server.url, api_key=SecretStr("sk-secret"), door=door)
        assert HELLO == await model.chat(ASK, NO_CALL)
        assert [TextPiece("hel"), TextPiece("lo"), HELLO] == [piece async for piece in model.stream_chat(ASK, NO_CALL)]

    assert 1 == server.connections
    assert all(request.startswith(b"POST /v1/messages HTTP/1.1\r\n") for request in server.requests)
