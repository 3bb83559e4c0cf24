"""Peers that are slow, on real sockets: uvicorn's protocol is bound to asyncio."""

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteStream
from fastapi import FastAPI, Response
from starlette.responses import StreamingResponse

from orchestrator.server.binding import tls_of
from orchestrator.server.deadlines import LONGEST_HEAD, Deadlines
from orchestrator.server.guard import declares
from orchestrator.server.serving import Serving
from tests.backends import Backend, backend
from tests.orchestrator.server.guard.house import app, guard
from tests.orchestrator.server.live import certificate, connected, is_cut, narrow, request, served, until

pytestmark = [pytest.mark.anyio, pytest.mark.real_clock]

PAUSE = 0.02
SHORT = Serving(deadlines=Deadlines(head=0.3, idle=1, write=0.3))
"""A connection that is idle after a response has the idle second and the time of a head."""

KERNEL = "TCP_USER_TIMEOUT"

HEALTH = b"GET /health HTTP/1.1\r\nHost: dagwright.test\r\n\r\n"


@pytest.fixture
def anyio_backend() -> Backend:
    """What uvicorn needs."""
    return backend("asyncio", virtual=False)


async def trickled(stream: ByteStream, text: bytes) -> float:
    """Sends a byte now and then until the server closes the connection; the seconds that took."""
    began = anyio.current_time()
    try:
        while True:
            for byte in text:
                await stream.send(bytes([byte]))
                with anyio.move_on_after(PAUSE):
                    await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return anyio.current_time() - began


@pytest.mark.parametrize(
    ("first", "text"),
    [
        pytest.param(b"GET /health HTTP/1.1\r\nHost: dagwright.test\r\n", b"X-More: y\r\n", id="a head without end"),
        pytest.param(b"", b"\r\n", id="empty lines"),
        pytest.param(b"GET /", b"a", id="a path without end"),
    ],
)
async def test_a_head_that_trickles(first: bytes, text: bytes) -> None:
    """However much comes, the whole head has one deadline."""
    async with served(guard(), SHORT) as live, await connected(live) as stream:
        if first:
            await stream.send(first)
        assert 0.2 < await trickled(stream, text) < 5


async def test_a_connection_without_a_word() -> None:
    """It is closed too."""
    async with served(guard(), SHORT) as live, await connected(live) as stream:
        assert await is_cut(stream)


async def test_hands_that_are_never_shaken(tmp_path: Path) -> None:
    """Over TLS the deadline holds from the first moment, too."""
    serving = Serving(tls=tls_of(*certificate(tmp_path)), deadlines=SHORT.deadlines)
    async with served(guard(), serving) as live, await connected(live) as stream:
        await stream.send(b"\x16\x03\x01")
        with anyio.fail_after(10):
            assert await is_cut(stream)


@pytest.mark.parametrize("text", [b"\r\n", b"GET /health HTTP/1.1\r\nX: "])
async def test_a_connection_that_is_kept_alive_by_little(text: bytes) -> None:
    """After a response there is a deadline again, and bytes don't move it."""
    async with served(guard(), SHORT) as live, await connected(live) as stream:
        await stream.send(HEALTH)
        await until(stream, b'{"status":"ok"}')
        assert await trickled(stream, text) < 5


async def test_many_trickle_and_others_are_served() -> None:
    """A hundred slow peers are cut, and meanwhile nobody waits."""
    async with served(guard(), Serving(deadlines=Deadlines(head=1.0))) as live, anyio.create_task_group() as group:
        cut = []

        async def trickle() -> None:
            async with await connected(live) as stream:
                cut.append(await trickled(stream, HEALTH[:-2] + b"X: y\r\n" * 1000))

        for _ in range(100):
            group.start_soon(trickle)
        waited = []
        while len(cut) < 100:
            began = anyio.current_time()
            async with await connected(live) as stream:
                await stream.send(HEALTH)
                await until(stream, b'{"status":"ok"}')
            waited.append(anyio.current_time() - began)

    assert max(cut) < 5
    assert sorted(waited)[len(waited) // 2] < 0.25


async def test_a_head_that_is_too_long() -> None:
    """It is refused while it comes, and not kept."""
    async with served(guard()) as live, await connected(live) as stream:
        await stream.send(HEALTH[:-2] + b"X: ")
        for _ in range(LONGEST_HEAD // 1024 + 1):
            await stream.send(b"x" * 1024)
        assert b"HTTP/1.1 431 " in await until(stream, b"\r\n\r\n")
        assert await is_cut(stream)


async def test_a_large_body_is_no_long_head() -> None:
    """What comes in one piece with the head counts only while the head is not over."""
    body = b" " * (LONGEST_HEAD * 2)
    async with served(guard()) as live, await connected(live) as stream:
        await stream.send(request("/v1/runs", f"Content-Length: {len(body)}", method="POST") + body)
        assert b'"size":%d' % len(body) in await until(stream, b'"tenant":"harbour"}')


def flooding(ended: anyio.Event) -> FastAPI:
    """An app that sends as fast as it can, or all at once, or a little now and then."""
    made = app()

    async def pieces(size: int, pause: float) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * size
                await anyio.sleep(pause)
        finally:
            ended.set()

    @made.get("/v1/flood")
    @declares("read")
    async def flood() -> StreamingResponse:
        return StreamingResponse(pieces(65536, 0), media_type="text/event-stream")

    @made.get("/v1/drops")
    @declares("read")
    async def drops() -> StreamingResponse:
        return StreamingResponse(pieces(1, PAUSE), media_type="text/event-stream")

    @made.get("/v1/trickle")
    @declares("read")
    async def trickle() -> StreamingResponse:
        return StreamingResponse(pieces(200, PAUSE), media_type="text/event-stream")

    @made.get("/v1/large")
    @declares("read")
    async def large() -> Response:
        return Response(b"x" * 20_000_000)

    return made


@pytest.mark.parametrize(
    ("path", "by_the_kernel"),
    [
        pytest.param("/v1/flood", False, id="much comes"),
        pytest.param(
            "/v1/trickle", True, id="little comes", marks=pytest.mark.skipif(KERNEL not in vars(socket), reason="other system")
        ),
    ],
)
async def test_who_does_not_read_is_cut_off(path: str, by_the_kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream of a peer that stands still ends within the deadline, and the app knows."""
    if not by_the_kernel:
        monkeypatch.delattr(socket, KERNEL, raising=False)
    ended = anyio.Event()
    async with served(guard(inside=flooding(ended)), SHORT) as live:
        with narrow(live) as peer, anyio.fail_after(4):
            peer.sendall(request(path))
            await ended.wait()


@pytest.mark.parametrize("headers", [(), ("Connection: close",)], ids=["kept alive", "closing"])
async def test_what_is_over_and_not_read_is_not_kept(headers: tuple[str, ...]) -> None:
    """A response that nobody takes away is dropped, whether or not the connection was to be closed after it."""
    guarded = guard(inside=flooding(anyio.Event()))
    async with served(guarded, SHORT) as live:
        with narrow(live) as peer:
            peer.sendall(request("/v1/large", *headers))
            peer.settimeout(0)
            for _ in range(4):  # each is closed by the deadline of its head, which is as long
                async with await connected(live) as other:
                    await is_cut(other)
            await anyio.wait_readable(peer)
            came = b""
            with anyio.fail_after(10):
                try:
                    while piece := peer.recv(65536):
                        came += piece
                        await anyio.wait_readable(peer)
                except ConnectionResetError:
                    pass

    assert len(came) < 20_000_000


async def test_who_reads_slowly_gets_all_of_it() -> None:
    """A response that takes longer than any deadline is sent to its end, as long as the peer takes it in."""
    guarded, size = guard(inside=flooding(anyio.Event())), 20_000_000
    async with served(guarded, SHORT) as live, await connected(live) as other, await connected(live) as stream:
        await stream.send(request("/v1/large"))
        began, came = anyio.current_time(), 0
        while came < size:
            came += len(await stream.receive(20_000))
            for _ in range(3):
                await other.send(HEALTH)
                await until(other, b'{"status":"ok"}')

    assert anyio.current_time() - began > SHORT.deadlines.write


async def test_a_stream_that_is_read_lasts() -> None:
    """No deadline ends it, even if it was asked for together with another request."""
    async with (
        served(guard(inside=flooding(anyio.Event())), SHORT) as live,
        await connected(live) as stream,
    ):
        await stream.send(HEALTH + request("/v1/drops"))
        began, came = anyio.current_time(), b""
        while anyio.current_time() < began + 2:
            came += await stream.receive()

    assert came.count(b"HTTP/1.1 200 OK") == 2
    assert came.count(b"\r\nx\r\n") > 20
