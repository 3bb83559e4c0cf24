"""How bytes travel: the same over each library, on sockets and without."""

from collections.abc import AsyncIterator

import aiohttp
import httpx
import pytest

from registry.transports import Arriving, OverAiohttp, OverHttpx, breakages, own_transport, why
from tests.backends import Backend
from tests.registry.servers import chunked, response, serving

pytestmark = pytest.mark.anyio


class Body(httpx.AsyncByteStream):
    """A body in these pieces, which knows whether it was closed."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.closed = pieces, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for piece in self.pieces:
                yield piece
        finally:
            self.closed = True


async def rest_of(answer: Arriving) -> bytes:
    """All that is still to come."""
    read = []
    while piece := await answer.more():
        read.append(piece)
    return b"".join(read)


@pytest.mark.parametrize("secure", [True, False])
async def test_each_loop_has_its_library(anyio_backend: Backend, secure: bool) -> None:
    """Aiohttp serves asyncio, and httpx serves trio."""
    transport = own_transport(secure=secure)

    assert {"asyncio": OverAiohttp, "trio": OverHttpx}[anyio_backend[0]] is type(transport)
    await transport.aclose()


@pytest.mark.real_clock
async def test_an_answer_over_a_socket() -> None:
    """The request arrives as it was given, the answer with its head, and its body up to the empty piece that ends it."""
    async with serving(lambda _: chunked(b"a", b"b")) as server:
        transport = own_transport(secure=False)
        answer = await transport.send("POST", f"{server.url}/v1?a=%20b", {"x-own": "1"}, b"{}", connect=5)
        read = await rest_of(answer)
        await answer.close()
        await transport.aclose()

    assert (200, "text/event-stream", b"ab") == (answer.status, answer.headers["content-type"], read)
    (request,) = server.requests
    assert request.startswith(b"POST /v1?a=%20b HTTP/1.1\r\n")
    assert request.endswith(b"\r\n\r\n{}")
    assert {b"x-own: 1", b"content-length: 2"} <= set(request.lower().split(b"\r\n"))


@pytest.mark.real_clock
async def test_an_unread_answer_costs_its_connection_and_a_read_one_does_not() -> None:
    """A connection serves again only after its answer was read to the end."""
    async with serving(lambda request: [response(b"-" * 1_000_000 if b"long" in request else b"ok")]) as server:
        transport = own_transport(secure=False)
        for path, connections in (("a", 1), ("b", 1), ("long", 1), ("c", 2)):
            answer = await transport.send("GET", f"{server.url}/{path}", {}, None, connect=5)
            if path != "long":
                assert b"ok" == await rest_of(answer)
            await answer.close()
            assert connections == server.connections
        await transport.aclose()


@pytest.mark.real_clock
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_what_is_there_is_read_without_a_wait() -> None:
    """Over aiohttp what has come is ready, the end too; before that nobody can say."""
    async with serving(lambda _: [response(b"whole")]) as server:
        transport = own_transport(secure=False)
        answer = await transport.send("GET", server.url, {}, None, connect=5)
        assert b"whole" == (answer.ready() or await answer.more())
        assert b"" == answer.ready()
        await transport.aclose()


async def test_a_transport_of_the_caller() -> None:
    """Over httpx nothing is known to be ready, empty pieces are left out, and closing reaches the body."""
    body = Body(b"", b"a", b"", b"b", b"c")
    transport = OverHttpx(httpx.MockTransport(lambda _: httpx.Response(200, stream=body)))

    answer = await transport.send("GET", "https://x", {}, None, connect=1)
    assert answer.ready() is None
    assert [b"a", b"b"] == [await answer.more(), await answer.more()]
    assert not body.closed
    await answer.close()
    assert body.closed


class Stuck(httpx.AsyncByteStream):
    """A body that can't be closed in peace."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"a"

    async def aclose(self) -> None:
        raise httpx.CloseError("broken")


async def test_what_breaks_while_an_answer_is_dropped() -> None:
    """Closing says nothing of it: nobody wants more of that answer."""
    transport = OverHttpx(httpx.MockTransport(lambda _: httpx.Response(200, stream=Stuck())))

    answer = await transport.send("GET", "https://x", {}, None, connect=1)
    assert b"a" == await answer.more()
    await answer.close()


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(httpx.ConnectError("refused"), "refused (ConnectError)", id="httpx"),
        pytest.param(httpx.ConnectTimeout(""), "no connection within 3 s", id="clock of httpx"),
        pytest.param(aiohttp.ConnectionTimeoutError(), "no connection within 3 s", id="clock of aiohttp"),
        pytest.param(aiohttp.ServerDisconnectedError(), "Server disconnected (ServerDisconnectedError)", id="aiohttp"),
        pytest.param(ConnectionResetError(), "ConnectionResetError", id="no words"),
        pytest.param(
            caused(httpx.ConnectTimeout("x"), aiohttp.ServerDisconnectedError()),
            "Server disconnected (ServerDisconnectedError)",
            id="an adapter's mistake",
        ),
    ],
)
def test_what_broke(error: Exception, said: str) -> None:
    """Each breakage is one that is listed, and is said in a few words."""
    assert isinstance(error, breakages())
    assert said == why(error, 3)
