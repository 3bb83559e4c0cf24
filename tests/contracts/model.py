"""What every model promises, whatever its provider. A test module for a provider says how its server would put things."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass

import anyio
import httpx
import orjson
import pytest
from msgspec.structs import replace

from registry.calls import NO_CALL, Call
from registry.errors import Garbled, ModelError, Overloaded, Refused, Truncated, Unauthorized, Unreachable, WindowExceeded
from registry.messages import (
    AssistantMessage,
    Finish,
    Json,
    Piece,
    ReasoningPiece,
    Reply,
    Request,
    SystemMessage,
    TextPiece,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from registry.models.model import Model
from registry.usage import Usage
from registry.wire.legal import IllegalRequest

KEY = "sk-secret-of-a-test"
ASK = Request(messages=(SystemMessage(text="Be brief."), UserMessage(text="hi")))
TOOL = ToolSpec(name="look", description="Looks.", parameters={"type": "object", "properties": {"at": {"type": "string"}}})
HTML = b"<!doctype html><html><head><title>Gateway</title></head><body>Sorry.</body></html>"
COST = Usage(requests=1, input_tokens=11, output_tokens=5, cache_read_tokens=4)

Handler = Callable[[httpx.Request], httpx.Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A reply as a model means it, before its server puts it into words. It always costs `COST`, and `m-1` gives it."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"

    @property
    def reply(self) -> Reply:
        return Reply(text=self.text, reasoning=self.reasoning, calls=self.calls, finish=self.finish, usage=COST, model="m-1")


PLAIN = Said(text="né 🙂, hello")
CALLS = (ToolCall(id="a", name="look", arguments='{"at":"né"}'), ToolCall(id="b", name="look", arguments="{}"))
CALLING = Said(text="Let me look.", calls=CALLS, finish="tool_calls")
CUT_SHORT = Said(text="once upon a", finish="length")
THINKING = Said(reasoning="hm é", text="yes")
REFUSED = Said(text="no", finish="refused")
SAID = [
    pytest.param(PLAIN, id="plain"),
    pytest.param(CALLING, id="parallel calls"),
    pytest.param(CUT_SHORT, id="cut short"),
    pytest.param(THINKING, id="thinking"),
    pytest.param(REFUSED, id="refused"),
]

WHOLE_ANSWERS = ["chat", "stream"]


class Provider(ABC):
    """One provider's words for what its server says, and a reading of what it hears."""

    @abstractmethod
    def model(self, handle: Handler) -> Model:
        """A model whose requests are answered by `handle`, with `KEY` as its key."""

    @abstractmethod
    def whole(self, said: Said) -> bytes: ...

    @abstractmethod
    def events(self, said: Said) -> list[bytes]:
        """The same as the events of a stream, text and arguments in several pieces."""

    @abstractmethod
    def error(self, status: int, words: str) -> bytes:
        """The body of an answer with this status."""

    @abstractmethod
    def error_event(self, words: str) -> bytes:
        """An overload, reported in mid-stream."""

    @abstractmethod
    def too_long(self) -> bytes:
        """The body under status 400 that says that the request is longer than the window."""

    @abstractmethod
    def results(self, body: Json) -> list[tuple[str, str]]:
        """The results of calls in a request: call id and text, in order."""

    def streaming(self, *pieces: bytes | float | Exception) -> Model:
        """A model that answers by a stream. A number is a pause in seconds, an exception breaks the connection."""
        return self.model(lambda _: streamed(Body(*pieces)))


class Body(httpx.AsyncByteStream):
    """A body in pieces."""

    def __init__(self, *pieces: bytes | float | Exception) -> None:
        self.pieces, self.closed = pieces, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, bytes):
                yield piece
            else:
                await anyio.sleep(piece)

    async def aclose(self) -> None:
        self.closed = True


def streamed(body: Body) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=body)


def answering(status: int, body: bytes, **headers: str) -> Handler:
    media = "text/html" if body.startswith(b"<") else "application/json"
    return lambda _: httpx.Response(status, headers={"content-type": media, **headers}, content=body)


async def pieces_of(model: Model, request: Request = ASK) -> list[Piece]:
    return await gathered(model.stream_chat(request, NO_CALL), [])


async def gathered(stream: AsyncGenerator[Piece, None], pieces: list[Piece]) -> list[Piece]:
    """All pieces of the stream, added to those given: what came before an error is there too."""
    async with aclosing(stream):
        async for piece in stream:
            pieces.append(piece)
    return pieces


async def ask(model: Model, how: str, request: Request = ASK) -> Reply:
    if how == "chat":
        return await model.chat(request, NO_CALL)
    last = (await pieces_of(model, request))[-1]
    assert isinstance(last, Reply)
    return last


def shown(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))


class ModelContract:
    """The provider comes from the fixture `provider`."""

    @pytest.fixture
    def provider(self) -> Provider:
        raise NotImplementedError

    async def test_its_endpoint_can_be_shown(self, provider: Provider) -> None:
        """A model says where it is asked, without a key and as its errors do."""
        model = provider.model(answering(500, provider.error(500, "no luck")))

        with pytest.raises(Overloaded) as caught:
            await model.chat(ASK, NO_CALL)
        assert caught.value.endpoint == model.endpoint
        assert model.endpoint.startswith("https://")

    @pytest.mark.parametrize("said", SAID)
    async def test_a_whole_reply(self, provider: Provider, said: Said) -> None:
        """Text, calls, thoughts, ending, cost and who answered come out as they were meant."""
        model = provider.model(answering(200, provider.whole(said)))

        assert said.reply == replace(await model.chat(ASK, NO_CALL), opaque="")

    @pytest.mark.parametrize("said", SAID)
    @pytest.mark.parametrize("size", [1, 7, 100_000])
    async def test_a_stream_is_the_same_reply(self, provider: Provider, said: Said, size: int) -> None:
        """A stream ends with the reply that a chat gives, wherever reads end; its pieces are that reply's text and thoughts."""
        raw = b"".join(provider.events(said))
        chunks = [raw[at : at + size] for at in range(0, len(raw), size)]

        whole = await provider.model(answering(200, provider.whole(said))).chat(ASK, NO_CALL)
        pieces = await pieces_of(provider.streaming(*chunks))

        assert whole == pieces[-1]
        assert said.text == shown(pieces)
        assert said.reasoning == "".join(piece.text for piece in pieces if isinstance(piece, ReasoningPiece))

    async def test_a_server_that_does_not_stream(self, provider: Provider) -> None:
        """A whole reply to a streamed request is taken as it is."""
        model = provider.model(answering(200, provider.whole(PLAIN)))

        assert [TextPiece(PLAIN.text), PLAIN.reply] == await pieces_of(model)

    async def test_tools_of_any_name(self, provider: Provider) -> None:
        """A tool goes by a name that the server takes, and its calls come back under its own, streamed or not."""
        said = Said(calls=(ToolCall(id="a", name="files_read", arguments="{}"),), finish="tool_calls")
        request = replace(ASK, tools=(ToolSpec(name="files/read", description="", parameters={}),), tool_choice="files/read")
        heard: list[bytes] = []

        def handle(asked: httpx.Request) -> httpx.Response:
            heard.append(asked.content)
            return httpx.Response(200, content=provider.whole(said), headers={"content-type": "application/json"})

        reply = await provider.model(handle).chat(request, NO_CALL)
        *_, streamed = [piece async for piece in provider.streaming(*provider.events(said)).stream_chat(request, NO_CALL)]

        assert ["files/read"] == [call.name for call in reply.calls]
        assert reply == streamed
        assert b"files/read" not in heard[0]
        assert 2 == heard[0].count(b'"files_read"')

    async def test_results_go_back(self, provider: Provider) -> None:
        """The results of parallel calls are sent under the ids of their calls, in order, and the answer to them comes back."""
        heard: list[Json] = []

        def handle(request: httpx.Request) -> httpx.Response:
            heard.append(orjson.loads(request.content))
            return httpx.Response(200, content=provider.whole(CALLING if len(heard) == 1 else PLAIN))

        model = provider.model(handle)
        first = await model.chat(Request(messages=ASK.messages, tools=(TOOL,)), NO_CALL)
        results = tuple(ToolMessage(call_id=call.id, name=call.name, text=f"saw {call.id}") for call in first.calls)
        said = AssistantMessage(text=first.text, calls=first.calls, reasoning=first.reasoning)
        second = await model.chat(Request(messages=(*ASK.messages, said, *results), tools=(TOOL,)), NO_CALL)

        assert [] == provider.results(heard[0])
        assert [("a", "saw a"), ("b", "saw b")] == provider.results(heard[1])
        assert PLAIN.reply == second

    @pytest.mark.parametrize("how", WHOLE_ANSWERS)
    async def test_call_ids_are_new(self, provider: Provider, how: str) -> None:
        """A server that begins its ids anew in each reply does not confuse the transcript."""
        old = (AssistantMessage(text="", calls=CALLS[:1]), ToolMessage(call_id="a", name="look", text="r"))
        request = Request(messages=(*ASK.messages, *old), tools=(TOOL,))
        whole, stream = provider.whole(CALLING), provider.events(CALLING)
        model = provider.model(answering(200, whole)) if how == "chat" else provider.streaming(*stream)

        reply = await ask(model, how, request)

        assert ["a_2", "b"] == [call.id for call in reply.calls]

    @pytest.mark.parametrize("said", [pytest.param(PLAIN, id="plain"), pytest.param(CALLING, id="calls")])
    @pytest.mark.parametrize("broken", [False, True], ids=["closed", "reset"])
    async def test_a_stream_cut_anywhere(self, provider: Provider, said: Said, broken: bool) -> None:
        """A stream that is cut after any byte gives the right reply or says that it was cut, and never shows a wrong text."""
        raw = b"".join(provider.events(said))
        for at in range(len(raw)):
            end = (httpx.ReadError("reset"),) if broken else ()
            pieces: list[Piece] = []
            try:
                await gathered(provider.streaming(raw[:at], *end).stream_chat(ASK, NO_CALL), pieces)
            except Truncated:
                pass
            except Unreachable:  # nothing has begun, so it may be asked again
                assert [] == pieces
            else:
                last = pieces[-1]
                assert isinstance(last, Reply)
                assert (said.text, said.calls, said.finish) == (last.text, last.calls, last.finish)
            assert said.text.startswith(shown(pieces))

    async def test_a_break_may_have_cost_something(self, provider: Provider) -> None:
        """What a broken stream cost is not known to be nothing."""
        events = provider.events(PLAIN)

        with pytest.raises(Truncated) as caught:
            await pieces_of(provider.streaming(*events[:-4], httpx.ReadError("reset")))
        assert 1 == caught.value.usage.requests
        assert not caught.value.usage.exact

    @pytest.mark.parametrize("how", WHOLE_ANSWERS)
    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            pytest.param(400, Refused, id="400"),
            pytest.param(401, Unauthorized, id="401"),
            pytest.param(403, Unauthorized, id="403"),
            pytest.param(404, Refused, id="404"),
            pytest.param(429, Overloaded, id="429"),
            pytest.param(500, Overloaded, id="500"),
            pytest.param(529, Overloaded, id="529"),
        ],
    )
    async def test_errors(self, provider: Provider, how: str, status: int, kind: type[ModelError]) -> None:
        """A status other than success is a typed error with the server's words and without the key, which servers may quote."""
        model = provider.model(answering(status, provider.error(status, f"no luck with {KEY}")))

        with pytest.raises(kind, match=r"no luck with \*\*\*") as caught:
            await ask(model, how)
        assert KEY not in f"{caught.value!r} {vars(caught.value)}"

    @pytest.mark.parametrize("how", WHOLE_ANSWERS)
    async def test_a_wait_that_is_asked_for(self, provider: Provider, how: str) -> None:
        """A server that says when to come back is quoted."""
        model = provider.model(answering(429, provider.error(429, "slow"), **{"retry-after": "7"}))

        with pytest.raises(Overloaded) as caught:
            await ask(model, how)
        assert 7.0 == caught.value.retry_after

    @pytest.mark.parametrize("how", WHOLE_ANSWERS)
    async def test_a_request_that_is_too_long(self, provider: Provider, how: str) -> None:
        """What is longer than the window is told apart from other refusals: it can be shortened."""
        with pytest.raises(WindowExceeded):
            await ask(provider.model(answering(400, provider.too_long())), how)

    @pytest.mark.parametrize("how", WHOLE_ANSWERS)
    @pytest.mark.parametrize(
        ("status", "kind"), [pytest.param(200, Garbled, id="success"), pytest.param(502, Overloaded, id="gateway")]
    )
    async def test_a_web_page(self, provider: Provider, how: str, status: int, kind: type[ModelError]) -> None:
        """A web page where a reply was due is quoted by its title."""
        with pytest.raises(kind, match="a web page: Gateway"):
            await ask(provider.model(answering(status, HTML)), how)

    async def test_an_error_inside_a_stream(self, provider: Provider) -> None:
        """An error that comes after some text is raised as it would be alone."""
        stream = provider.streaming(*provider.events(PLAIN)[:-3], provider.error_event("too busy")).stream_chat(ASK, NO_CALL)
        pieces: list[Piece] = []

        with pytest.raises(Overloaded, match="too busy"):
            await gathered(stream, pieces)
        assert PLAIN.text == shown(pieces)

    @pytest.mark.parametrize("how", WHOLE_ANSWERS)
    async def test_nobody_there(self, provider: Provider, how: str) -> None:
        """Without a connection the model is unreachable."""

        def handle(request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("refused")

        with pytest.raises(Unreachable, match="refused"):
            await ask(provider.model(handle), how)

    async def test_a_deadline(self, provider: Provider) -> None:
        """The deadline of the call ends the wait in mid-stream too."""
        deadline = anyio.current_time() + 20
        model = provider.streaming(provider.events(PLAIN)[0], 3600.0)

        with pytest.raises((Truncated, Unreachable), match="deadline"):
            await gathered(model.stream_chat(ASK, Call(deadline=deadline)), [])
        assert deadline == pytest.approx(anyio.current_time(), abs=0.5)

    async def test_a_stream_ends_with_its_mark(self, provider: Provider) -> None:
        """A server that never closes the connection after the end is not waited for."""
        began = anyio.current_time()

        assert PLAIN.reply == (await pieces_of(provider.streaming(*provider.events(PLAIN), 3600.0)))[-1]
        assert anyio.current_time() - began < 1

    async def test_a_stream_left_early(self, provider: Provider) -> None:
        """Whoever leaves a stream early closes its connection."""
        body = Body(*provider.events(PLAIN))

        async with aclosing(provider.model(lambda _: streamed(body)).stream_chat(ASK, NO_CALL)) as pieces:
            await anext(pieces)

        assert body.closed

    @pytest.mark.parametrize("how", WHOLE_ANSWERS)
    async def test_illegal_transcripts(self, provider: Provider, how: str) -> None:
        """A transcript that no provider takes is not sent."""
        orphan = Request(messages=(UserMessage(text="hi"), ToolMessage(call_id="1", name="t", text="r")))

        with pytest.raises(IllegalRequest):
            await ask(provider.model(lambda _: pytest.fail("it was sent")), how, orphan)
