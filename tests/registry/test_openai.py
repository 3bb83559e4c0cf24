"""Models behind an OpenAI-compatible endpoint."""

from collections.abc import Callable
from contextlib import aclosing

import anyio
import httpx
import orjson
import pytest
from pydantic import SecretStr

from registry.calls import NO_CALL, Call
from registry.errors import Garbled, ModelError, Overloaded, Refused, Truncated, Unauthorized, Unreachable
from registry.http import HttpDoor
from registry.messages import AssistantMessage, Json, Piece, Reply, Request, TextPiece, ToolCall, ToolMessage, UserMessage
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.openai import OpenAIModel, served_models
from registry.usage import UNMETERED, Usage
from registry.wire.legal import IllegalRequest
from registry.wire.rules import COMPATIBLE, OPENAI
from tests.contracts.model import Body
from tests.registry.servers import chunked, response, serving

pytestmark = pytest.mark.anyio

ASK = Request(messages=(UserMessage(text="hi"),))
BODY = {
    "model": "m-2025",
    "choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
}
HELLO = Reply(text="hello", usage=Usage(requests=1, input_tokens=3, output_tokens=1), model="m-2025")
EVENTS = [
    b'data: {"model":"m-2025","choices":[{"index":0,"delta":{"content":"hel"},"finish_reason":null}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
    b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\n',
    b"data: [DONE]\n\n",
]

Handler = Callable[[httpx.Request], httpx.Response]


def model(handle: Handler, *, base_url: str = "https://x/v1", key: str | None = "sk-secret") -> OpenAIModel:
    door = HttpDoor(httpx.MockTransport(handle))
    return OpenAIModel("x:m", model="m", base_url=base_url, api_key=SecretStr(key) if key else None, door=door)


def streaming(*pieces: bytes | float | Exception) -> OpenAIModel:
    return model(lambda _: httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body(*pieces)))


async def pieces_of(source: OpenAIModel, request: Request = ASK) -> list[Piece]:
    return [piece async for piece in source.stream_chat(request, NO_CALL)]


async def test_chat() -> None:
    """A chat sends one request, with key and model, and returns the reply with what it cost and who gave it."""
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=BODY)

    assert HELLO == await model(handle).chat(ASK, NO_CALL)

    (sent,) = seen
    assert ("https://x/v1/chat/completions", "Bearer sk-secret") == (str(sent.url), sent.headers["authorization"])
    assert "application/json" == sent.headers["content-type"]
    assert {"model": "m", "messages": [{"role": "user", "content": "hi"}]} == orjson.loads(sent.content)


@pytest.mark.parametrize("base", ["https://x/v1", "https://x/v1/", " https://x/v1/chat/completions"])
async def test_base_urls(base: str) -> None:
    """The base URL may end in a slash or in the path itself; without a key no credentials are sent."""

    def handle(request: httpx.Request) -> httpx.Response:
        assert ("https://x/v1/chat/completions", None) == (str(request.url), request.headers.get("authorization"))
        return httpx.Response(200, json=BODY)

    await model(handle, base_url=base, key=None).chat(ASK, NO_CALL)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        pytest.param(
            httpx.Response(401, json={"error": {"message": "bad key sk-secret"}}), Unauthorized, r"bad key \*\*\*", id="401"
        ),
        pytest.param(httpx.Response(429, headers={"retry-after": "3"}), Overloaded, "wait 3 s", id="429"),
        pytest.param(httpx.Response(404, json={"error": {"message": "nope"}}), Refused, "'m'", id="404"),
        pytest.param(httpx.Response(200, html="<html><title>Portal</title>"), Garbled, "Portal.*/v1", id="web page"),
        pytest.param(httpx.Response(200, text="hello"), Garbled, "hello", id="no JSON"),
        pytest.param(
            httpx.Response(200, json={"error": {"code": 429, "message": "up"}}), Overloaded, "up", id="error in a success"
        ),
    ],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["chat", "stream"])
async def test_errors(answer: httpx.Response, kind: type[ModelError], words: str, streamed: bool) -> None:
    """Chat and stream raise the same typed errors, which never show the key."""
    source = model(lambda _: httpx.Response(answer.status_code, headers=answer.headers, content=answer.content))
    if streamed and answer.text == "hello":
        kind, words = Truncated, "without a finish reason"

    with pytest.raises(kind, match=words) as caught:
        await (pieces_of(source) if streamed else source.chat(ASK, NO_CALL))
    assert "sk-secret" not in str(caught.value)


async def test_illegal_transcripts_are_not_sent() -> None:
    """A transcript that no provider takes is stopped at the gate, streamed or not."""
    orphan = Request(messages=(UserMessage(text="hi"), ToolMessage(call_id="1", name="t", text="r")))
    source = model(lambda _: pytest.fail("it was sent"))

    with pytest.raises(IllegalRequest):
        await source.chat(orphan, NO_CALL)
    with pytest.raises(IllegalRequest):
        await pieces_of(source, orphan)


async def test_call_ids_differ_from_those_of_the_transcript() -> None:
    """An endpoint that begins its ids anew in each reply does not confuse the transcript."""
    old = ToolCall(id="call_0", name="f", arguments="{}")
    asked = Request(
        messages=(
            UserMessage(text="u"),
            AssistantMessage(text="", calls=(old,)),
            ToolMessage(call_id="call_0", name="f", text="r"),
        )
    )
    message: Json = {"tool_calls": [{"id": "call_0", "function": {"name": "f", "arguments": "{}"}}]}
    source = model(lambda _: httpx.Response(200, json={"choices": [{"message": message, "finish_reason": "tool_calls"}]}))

    reply = await source.chat(asked, NO_CALL)

    assert ["call_0_2"] == [call.id for call in reply.calls]


async def test_deadlines() -> None:
    """The deadline of the call ends the wait."""
    deadline = anyio.current_time() + 20

    async def handle(request: httpx.Request) -> httpx.Response:
        await anyio.sleep(60)
        return httpx.Response(200, json=BODY)

    source = OpenAIModel("x:m", model="m", base_url="https://x", api_key=None, door=HttpDoor(httpx.MockTransport(handle)))
    with pytest.raises(Unreachable, match="deadline"):
        await source.chat(ASK, Call(deadline=deadline))
    assert deadline == pytest.approx(anyio.current_time(), abs=0.5)


async def test_stream() -> None:
    """A stream yields the text as it comes, and the whole reply last."""
    assert [TextPiece("hel"), TextPiece("lo"), HELLO] == await pieces_of(streaming(*EVENTS))


async def test_a_stream_ends_with_its_mark() -> None:
    """An endpoint that never closes the connection after its closing mark is not waited for."""
    began = anyio.current_time()

    assert HELLO == (await pieces_of(streaming(*EVENTS, 3600.0)))[-1]
    assert anyio.current_time() - began < 1


async def test_a_stream_left_early_is_closed() -> None:
    """Whoever leaves a stream early closes its connection."""
    body = Body(*EVENTS)
    source = model(lambda _: httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=body))

    async with aclosing(source.stream_chat(ASK, NO_CALL)) as pieces:
        assert TextPiece("hel") == await anext(pieces)

    assert body.closed


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param((EVENTS[0],), id="closed"),
        pytest.param((EVENTS[0], httpx.ReadError("reset")), id="reset"),
        pytest.param((EVENTS[0], 121.0, EVENTS[1]), id="silent"),
    ],
)
async def test_a_stream_that_breaks_off(broken: tuple[bytes | float | Exception, ...]) -> None:
    """A stream without its end is Truncated, whatever cut it."""
    with pytest.raises(Truncated) as caught:
        await pieces_of(streaming(*broken))
    assert UNMETERED == caught.value.usage


async def test_a_stream_that_breaks_before_the_reply_began() -> None:
    """Nobody has heard anything yet, so it counts as never answered, but it may have cost something."""
    with pytest.raises(Unreachable, match="reset") as caught:
        await pieces_of(streaming(b": wait\n\n", httpx.ReadError("reset")))
    assert UNMETERED == caught.value.usage


async def test_a_break_after_the_end_does_no_harm() -> None:
    """Once the finish reason is there the reply is whole, though the connection breaks before the closing mark."""
    pieces = await pieces_of(streaming(*EVENTS[:3], httpx.ReadError("reset")))

    assert [TextPiece("hel"), TextPiece("lo"), Reply(text="hello", model="m-2025")] == pieces


async def test_an_endpoint_that_does_not_stream() -> None:
    """A whole reply to a streamed request is taken as it is."""
    assert [TextPiece("hello"), HELLO] == await pieces_of(model(lambda _: httpx.Response(200, json=BODY)))


async def test_what_a_model_is() -> None:
    """It has the shape of a Model and keeps deadlines; its abilities are its rules', unless they are given."""
    door = HttpDoor()
    plain: Model = OpenAIModel("x:m", model="m", base_url="https://x", api_key=None, door=door, rules=COMPATIBLE)
    told: Model = OpenAIModel("x:m", model="m", base_url="https://x", api_key=None, door=door, abilities={}, context_window=8)
    hosted: Model = OpenAIModel("x:m", model="m", base_url="https://x", api_key=None, door=door, rules=OPENAI)

    assert ("x:m", None, False) == (plain.name, plain.context_window, plain.abilities["json_schema"])
    assert ({}, 8) == (told.abilities, told.context_window)
    assert hosted.abilities["json_schema"]
    assert ModelLayer(plain).punctual


async def test_served_models() -> None:
    """A probe lists what an endpoint serves."""

    def handle(request: httpx.Request) -> httpx.Response:
        assert ("GET", "/v1/models", "Bearer sk-secret") == (request.method, request.url.path, request.headers["authorization"])
        return httpx.Response(200, json={"data": [{"id": "a"}, {"id": "b"}, {"no": "id"}]})

    assert ("a", "b") == await served_models(HttpDoor(httpx.MockTransport(handle)), "https://x/v1/", SecretStr("sk-secret"))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        pytest.param(httpx.Response(401, text="sk-secret"), Unauthorized, id="401"),
        pytest.param(httpx.Response(200, json={"data": None}), Garbled, id="no list"),
        pytest.param(httpx.Response(200, html="<html>"), Garbled, id="web page"),
    ],
)
async def test_failed_probes(answer: httpx.Response, kind: type[ModelError]) -> None:
    """A probe that finds something else says so, without the key."""
    door = HttpDoor(httpx.MockTransport(lambda _: httpx.Response(answer.status_code, content=answer.content)))

    with pytest.raises(kind) as caught:
        await served_models(door, "https://x/v1", SecretStr("sk-secret"))
    assert "sk-secret" not in str(caught.value)


async def test_probes_are_short() -> None:
    """A server that does not answer a probe is given up within seconds."""

    async def handle(request: httpx.Request) -> httpx.Response:
        await anyio.sleep(60)
        return httpx.Response(200)

    with pytest.raises(Unreachable, match="no answer for 3 s"):
        await served_models(HttpDoor(httpx.MockTransport(handle)), "https://x", None)


@pytest.mark.real_clock
async def test_over_a_socket() -> None:
    """Chat and stream work over a real socket, and share its connection."""

    def script(request: bytes) -> list[bytes]:
        return chunked(*EVENTS) if b'"stream":true' in request else [response(orjson.dumps(BODY))]

    async with serving(script) as server, HttpDoor() as door:
        source = OpenAIModel("x:m", model="m", base_url=f"{server.url}/v1", api_key=SecretStr("sk-secret"), door=door)
        assert HELLO == await source.chat(ASK, NO_CALL)
        assert [TextPiece("hel"), TextPiece("lo"), HELLO] == await pieces_of(source)
        assert HELLO == await source.chat(ASK, NO_CALL)

    assert 1 == server.connections
    assert all(request.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n") for request in server.requests)
