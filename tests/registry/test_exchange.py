"""Exchanges with an endpoint, in a protocol made up for the test. What providers do with them is in tests/contracts."""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing, suppress

import anyio
import httpx
import pytest

from registry.allowances import Allowance, Allowances
from registry.calls import NO_CALL, Call
from registry.errors import Garbled, ModelError, Truncated, Unreachable
from registry.exchange import Exchange
from registry.http import HttpDoor, Timeouts
from registry.messages import Piece, Reply, TextPiece
from registry.usage import Usage
from registry.wire.thinking import Pieces
from tests.contracts.model import Body, Handler

pytestmark = pytest.mark.anyio

AsyncHandler = Callable[[httpx.Request], Coroutine[None, None, httpx.Response]]
COST = Usage(requests=1, input_tokens=1)


class Letters:
    """Each letter is a piece, and a full stop is the end."""

    def __init__(self) -> None:
        self.text = ""

    @property
    def done(self) -> bool:
        return self.text.endswith(".")

    complete = done

    @property
    def begun(self) -> bool:
        return bool(self.text)

    @property
    def usage(self) -> Usage:
        return COST

    def read(self, chunk: bytes) -> Pieces:
        self.text += chunk.decode()
        return [TextPiece(letter) for letter in chunk.decode()]

    def reply(self) -> tuple[Pieces, Reply]:
        return [], Reply(text=self.text)


def exchange(handle: Handler | AsyncHandler, timeouts: Timeouts | None = None) -> Exchange:
    def fault(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        return Garbled("https://x", f"{status} {headers.get('x', '')} {body.decode()}")

    door = HttpDoor(httpx.MockTransport(handle))
    headers = {"x-key": "sk-secret"}
    return Exchange(
        door=door,
        url="https://x/talk",
        endpoint="https://x",
        headers=headers,
        secret="sk-secret",
        fault=fault,
        timeouts=timeouts or Timeouts(),
    )


def answering(status: int, *pieces: bytes | float | Exception, **headers: str) -> Exchange:
    return exchange(lambda _: httpx.Response(status, headers=headers, stream=Body(*pieces)))


def spoken(body: bytes) -> Reply:
    return Reply(text=body.decode())


def broken(body: bytes) -> Reply:
    raise Garbled("https://x", f"what is {body.decode()}?")


async def pieces_of(source: Exchange) -> list[Piece]:
    stream = source.pieces(b"ask", NO_CALL, assembler=Letters(), lift=spoken)
    return [piece async for piece in stream]


async def test_a_whole_answer() -> None:
    """The request goes to the address with its headers, and the body of a success comes back."""

    def handle(request: httpx.Request) -> httpx.Response:
        assert ("https://x/talk", "sk-secret", b"ask") == (str(request.url), request.headers["x-key"], request.content)
        return httpx.Response(200, content=b"yes")

    assert Reply(text="yes") == await exchange(handle).whole(b"ask", NO_CALL, lift=spoken)


async def test_failures_do_not_show_the_secret() -> None:
    """Status, headers and body make the error, and the secret is in none of its words or facts."""
    with pytest.raises(Garbled, match=r"418 y no \*\*\*"):
        await answering(418, b"no sk-secret", x="y").whole(b"ask", NO_CALL, lift=spoken)
    with pytest.raises(Garbled, match=r"418 y no \*\*\*"):
        await pieces_of(answering(418, b"no sk-secret", x="y"))


async def test_an_answer_that_quotes_the_secret_does_not_show_it() -> None:
    """Nor does an error that is found inside an answer, whole or streamed, under any status."""
    with pytest.raises(Garbled, match=r"what is \*\*\*\?") as whole:
        await answering(200, b"sk-secret").whole(b"ask", NO_CALL, lift=broken)
    source = answering(200, b"sk-secret", **{"content-type": "application/json"})
    with pytest.raises(Garbled, match=r"what is \*\*\*\?") as streamed:
        await anext(source.pieces(b"ask", NO_CALL, assembler=Letters(), lift=broken))

    assert ["what is ***?"] * 2 == [whole.value.why, streamed.value.why]


@pytest.mark.parametrize(
    ("media", "expected"),
    [
        pytest.param("text/event-stream", [TextPiece("a"), TextPiece("."), Reply(text="a.")], id="events"),
        pytest.param("", [TextPiece("a"), TextPiece("."), Reply(text="a.")], id="unnamed"),
        pytest.param("application/json", [TextPiece("a."), Reply(text="a.")], id="JSON"),
        pytest.param("text/html", [TextPiece("a."), Reply(text="a.")], id="web page"),
    ],
)
async def test_what_streams(media: str, expected: list[Piece]) -> None:
    """What is neither JSON nor a web page is read as a stream, for some endpoints name no media type."""
    assert expected == await pieces_of(answering(200, b"a.", **({"content-type": media} if media else {})))


async def test_an_empty_whole_reply_has_no_pieces() -> None:
    """A reply without text is itself alone."""
    assert [Reply(text="")] == await pieces_of(answering(200, **{"content-type": "application/json"}))


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        pytest.param((b"a", httpx.ReadError("reset")), Truncated, id="after the beginning"),
        pytest.param((httpx.ReadError("reset"),), Unreachable, id="before it"),
    ],
)
async def test_breaks(pieces: tuple[bytes | Exception, ...], kind: type[ModelError]) -> None:
    """A stream that breaks off is truncated once it has begun, and costs what was reported."""
    with pytest.raises(kind, match="reset") as caught:
        await pieces_of(answering(200, *pieces))
    assert COST == caught.value.usage


async def test_the_end_is_the_end() -> None:
    """After the mark nothing is waited for, and a break does no harm."""
    began = anyio.current_time()

    assert Reply(text="a.") == (await pieces_of(answering(200, b"a.", 3600.0)))[-1]
    assert Reply(text="a.") == (await pieces_of(answering(200, b"a.", httpx.ReadError("reset"))))[-1]
    assert anyio.current_time() - began < 1


async def test_deadlines_and_timeouts() -> None:
    """The call's deadline and the exchange's own clocks end the wait."""

    async def handle(request: httpx.Request) -> httpx.Response:
        await anyio.sleep(3600)
        return httpx.Response(200)

    impatient = exchange(handle, Timeouts(first_byte=5.0))
    with pytest.raises(Unreachable, match="no answer for 5 s"):
        await impatient.whole(b"ask", NO_CALL, lift=spoken)
    with pytest.raises(Unreachable, match="deadline"):
        await impatient.whole(b"ask", Call(deadline=anyio.current_time() + 1), lift=spoken)


SAID = Allowances(requests=Allowance(limit=9, remaining=4))


@pytest.mark.parametrize(("status", "hears"), [(200, [SAID]), (429, [SAID]), (503, [])])
@pytest.mark.parametrize("stream", [False, True])
async def test_the_call_hears_what_is_said_of_limits(status: int, hears: list[Allowances], stream: bool) -> None:
    """As soon as the head of the answer is there, whatever becomes of the rest; not of an endpoint that is out of order."""
    heard: list[Allowances | None] = []
    source = answering(status, b"a.", **{"x-ratelimit-limit-requests": "9", "x-ratelimit-remaining-requests": "4"})
    call = Call(heard=heard.append)
    with suppress(Garbled):
        if stream:
            async with aclosing(source.pieces(b"ask", call, assembler=Letters(), lift=spoken)) as pieces:
                await anext(pieces)
        else:
            await source.whole(b"ask", call, lift=spoken)

    assert hears == heard


async def test_most_answers_say_nothing_of_limits() -> None:
    """Then the call hears only that there is one."""
    heard: list[Allowances | None] = []
    await answering(200, b"yes").whole(b"ask", Call(heard=heard.append), lift=spoken)

    assert [None] == heard
