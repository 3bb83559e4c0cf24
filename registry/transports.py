"""How bytes travel: over aiohttp on asyncio, over httpx on trio, and over what the caller brings.

aiohttp is spoken to directly, for httpx's requests and responses around it would be a good part of what a chat costs. What
is raised here is listed by `breakages`, and said in words by `why`; the door makes one error of it.
"""

import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Protocol, Self, cast

import anyio
from msgspec import Struct

from registry.loops import on_trio

if TYPE_CHECKING:
    import aiohttp
    import httpx

    Client = httpx.AsyncClient | httpx.AsyncBaseTransport

Headers = Mapping[str, str]

KEEP_ALIVE = 15.0
"""Seconds for which an idle connection is kept."""


class Arriving(Struct, frozen=True, kw_only=True):
    """An answer whose body is still to be read, a piece at a time; an empty piece is its end.

    `ready` is a piece that is there already, None when nobody can say so; then `more` waits for one. `close` drops the rest, and
    raises nothing.
    """

    status: int
    headers: Headers
    ready: Callable[[], bytes | None]
    more: Callable[[], Awaitable[bytes]]
    close: Callable[[], Awaitable[None]]


class Transport(Protocol):
    """Sends a request and waits for the head of its answer. Follows no redirect, decodes nothing, raises `breakages`.

    Only a transport can see when it is connected: `connect` is the seconds that it has for that. All other waits are the
    caller's to bound.
    """

    async def send(self, method: str, url: str, headers: Headers, body: bytes | None, *, connect: float) -> Arriving: ...

    async def aclose(self) -> None: ...


def own_transport(*, secure: bool) -> Transport:
    """A new one for the running event loop. Plain HTTP has its own, for loading certificates takes 20 ms."""
    if not on_trio():
        return OverAiohttp(secure=secure)
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEP_ALIVE)
    return OverHttpx(httpx.AsyncHTTPTransport(verify=_trusting(secure), limits=limits))


class OverAiohttp:
    """Connections without a limit, in a session without cookies."""

    def __init__(self, *, secure: bool) -> None:
        import aiohttp

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=_trusting(secure), keepalive_timeout=KEEP_ALIVE),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    async def send(self, method: str, url: str, headers: Headers, body: bytes | None, *, connect: float) -> Arriving:
        response = await self._session.request(
            method, url, headers=headers, data=body, allow_redirects=False, timeout=_connecting(connect)
        )
        content = response.content

        def ready() -> bytes | None:
            if content.exception() is not None:
                return None
            return b"" if content.at_eof() else content.read_nowait() or None

        async def close() -> None:
            if not response.closed:  # as it is when its end was read
                response.release()

        return Arriving(status=response.status, headers=response.headers, ready=ready, more=content.readany, close=close)

    async def aclose(self) -> None:
        await self._session.close()


# What httpx tells when a connection stands and no request has begun on it yet.
_CONNECTED = ("connection.connect_tcp.complete", "connection.connect_unix_socket.complete", "connection.start_tls.complete")


class OverHttpx:
    """A client of the caller's, with all that he set in it, or a bare transport.

    `place` is the seconds that a request may wait for a place in its pool, None for no limit.
    """

    def __init__(self, client: "Client", *, place: float | None = None) -> None:
        self._client, self._place = client, place

    async def send(self, method: str, url: str, headers: Headers, body: bytes | None, *, connect: float) -> Arriving:
        request = self._request(method, url, headers, body, connect=connect)
        with anyio.CancelScope() as scope:

            async def follow(event: str, _about: object) -> None:
                # A connection whose request is cancelled in just this moment would keep its place in the pool for ever, for it
                # is neither idle nor closed.
                scope.shield = event in _CONNECTED

            request.extensions["trace"] = follow
            response = await self._sent(request)
        source = aiter(cast("AsyncIterable[bytes]", response.stream))

        async def more() -> bytes:
            async for piece in source:
                if piece:
                    return piece
            return b""

        async def close() -> None:
            with suppress(*breakages()):
                try:
                    if isinstance(source, AsyncGenerator):
                        await source.aclose()
                finally:
                    await response.aclose()

        return Arriving(status=response.status_code, headers=response.headers, ready=lambda: None, more=more, close=close)

    def _request(self, method: str, url: str, headers: Headers, body: bytes | None, *, connect: float) -> "httpx.Request":
        import httpx

        clocks = {"connect": connect, "read": None, "write": None, "pool": self._place}
        if isinstance(self._client, httpx.AsyncClient):
            timeout = httpx.Timeout(**clocks)
            request = self._client.build_request(method, url, headers=dict(headers), content=body, timeout=timeout)
        else:
            request = httpx.Request(method, url, headers=headers, content=body, extensions={"timeout": clocks})
        if body is not None:
            request.stream = _whole_body()(body)
        return request

    async def _sent(self, request: "httpx.Request") -> "httpx.Response":
        import httpx

        if isinstance(self._client, httpx.AsyncClient):
            return await self._client.send(request, stream=True, follow_redirects=False)
        return await self._client.handle_async_request(request)

    async def aclose(self) -> None:
        await self._client.aclose()


def breakages() -> tuple[type[Exception], ...]:
    """What transports raise when a connection fails. A library that is not imported has raised nothing."""
    httpx, aiohttp = sys.modules.get("httpx"), sys.modules.get("aiohttp")
    return (OSError, *([] if httpx is None else [httpx.HTTPError]), *([] if aiohttp is None else [aiohttp.ClientError]))


def why(error: Exception, connect: float) -> str:
    """What broke, in a few words. Adapters report many faults as timeouts: what the library below them said is right."""
    httpx, cause = sys.modules.get("httpx"), error.__cause__
    genuine = cause if cause is not None and type(cause).__module__.startswith("aiohttp") else error
    if httpx is not None and isinstance(genuine, httpx.PoolTimeout):
        return "no connection of the client's pool came free; does it have as many as there are request slots?"
    if isinstance(genuine, TimeoutError) or (httpx is not None and isinstance(genuine, httpx.ConnectTimeout)):
        return f"no connection within {connect:g} s"
    return f"{genuine} ({type(genuine).__name__})" if str(genuine) else type(genuine).__name__


class _Once:
    """Pieces that can be read once. An async generator would complain when a request is cancelled before it was read up."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = iter(pieces)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration


@cache
def _whole_body() -> "Callable[[bytes], httpx.AsyncByteStream]":
    import httpx

    class WholeBody(httpx.AsyncByteStream):
        """The body of a request, which may be read anew for each time that it is sent."""

        def __init__(self, body: bytes) -> None:
            self._body = body

        def __aiter__(self) -> AsyncIterator[bytes]:
            return _Once(self._body)

    return WholeBody


@cache
def _connecting(seconds: float) -> "aiohttp.ClientTimeout":
    import aiohttp

    return aiohttp.ClientTimeout(total=None, connect=seconds, sock_connect=seconds)


@cache
def _trusting(secure: bool) -> ssl.SSLContext:
    if not secure:  # a context without certificates trusts nobody, which is all that plain HTTP needs
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    import httpx

    return httpx.create_ssl_context()
