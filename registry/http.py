"""The one HTTP door: every request that leaves this layer goes through it.

It takes bytes and gives bytes. Each event loop has transports of its own, opened at the first use and closed when it ends,
if not by `HttpDoor.aclose` before: a second loop in one process never meets a connection of the first. Whatever goes wrong
below comes out as `Unreachable`. Redirects aren't followed, and nothing is repeated: that is for those who know what a repeat
costs.
"""

import math
import re
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Self, TypeVar, cast

import anyio
from anyio.lowlevel import RunVar

from registry.errors import ConfigurationError, Unreachable
from registry.loops import at_loop_end
from registry.usage import UNMETERED

if TYPE_CHECKING:
    import httpx

    Client = httpx.AsyncClient | httpx.AsyncBaseTransport

T = TypeVar("T")

Headers = Mapping[str, str]

KEEP_ALIVE = 15.0
"""Seconds for which an idle connection is kept."""

# Answers come plain: providers compress streams in ways that decoders stumble over, and replies are short.
_DEFAULTS = {"accept-encoding": "identity", "user-agent": "dagwright"}
_ADDRESS = re.compile(r"(?P<scheme>https?)://(?:[^/?#@]*@)?(?P<rest>[^/?#@\s][^?#\s]*)", re.IGNORECASE)
_LEGAL_VALUE = re.compile(r"[\t\x20-\x7e]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The three clocks of a request, in seconds: until connected, until the head of the answer, between two reads."""

    connect: float = 10.0
    first_byte: float = 300.0
    idle: float = 120.0


TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer, of any status."""

    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStream:
    """An answer whose body is still arriving. Reading `chunks` raises `Unreachable` when the connection breaks."""

    status: int
    headers: Headers
    chunks: AsyncIterator[bytes]


@lru_cache(256)
def address(url: str) -> str:
    """The URL as it may be shown: without user, password and query. ConfigurationError when it is no web address."""
    found = _ADDRESS.match(url)
    if found is None:
        raise ConfigurationError("an address must begin with http:// or https:// and name a host")
    return f"{found['scheme'].lower()}://{found['rest']}"


class HttpDoor:
    """Sends requests and waits for answers.

    `client` replaces the transport: an `httpx.AsyncClient` with the caller's own proxies, certificates and headers, or a bare
    transport. It serves one event loop and stays the caller's to close. Without it TLS certificates are always verified.

        async with httpx.AsyncClient(proxy=proxy, verify=ssl_context, headers={"x-team": "a"}) as client:
            models = [connect("openai:gpt-4.1", door=HttpDoor(client))]
    """

    def __init__(self, client: "Client | None" = None) -> None:
        self._client = client
        self._transports: RunVar[dict[bool, httpx.AsyncBaseTransport]] = RunVar("dagwright HTTP transports")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of the running event loop. The door can be used again afterwards."""
        transports = self._transports.get({})
        self._transports.set({})
        for transport in transports.values():
            await transport.aclose()

    async def post(
        self, url: str, headers: Headers, body: bytes, *, deadline: float | None = None, timeouts: Timeouts = TIMEOUTS
    ) -> Answer:
        """POST `body` and read the whole answer. `deadline` is a moment of `anyio.current_time()`."""
        async with self.stream(url, headers, body, deadline=deadline, timeouts=timeouts) as answer:
            return await _whole(answer)

    async def get(self, url: str, headers: Headers, *, deadline: float | None = None, timeouts: Timeouts = TIMEOUTS) -> Answer:
        """GET the whole answer."""
        async with self._exchange("GET", url, headers, None, clocks=_Clocks(url, deadline, timeouts)) as answer:
            return await _whole(answer)

    def stream(
        self, url: str, headers: Headers, body: bytes, *, deadline: float | None = None, timeouts: Timeouts = TIMEOUTS
    ) -> AbstractAsyncContextManager[AnswerStream]:
        """POST `body` and read the answer as it arrives; leaving the block drops what has not been read."""
        return self._exchange("POST", url, headers, body, clocks=_Clocks(url, deadline, timeouts))

    @asynccontextmanager
    async def _exchange(
        self, method: str, url: str, headers: Headers, body: bytes | None, *, clocks: "_Clocks"
    ) -> AsyncIterator[AnswerStream]:
        _refuse_illegal(headers)
        await at_loop_end(self, self.aclose)
        send = self._send(method, url, {**_DEFAULTS, **headers}, body, timeouts=clocks.timeouts)
        response = await clocks.head(send)
        chunks = clocks.body(response)
        try:
            yield AnswerStream(status=response.status_code, headers=response.headers, chunks=chunks)
        finally:
            try:
                await chunks.aclose()
            finally:
                with suppress(*_breakages()):
                    await response.aclose()

    def _send(
        self, method: str, url: str, headers: Headers, body: bytes | None, *, timeouts: Timeouts
    ) -> "Callable[[], Awaitable[httpx.Response]]":
        import httpx

        # Reads are timed here, so that the deadline counts too; only the transport can see when it is connected.
        clocks = {"connect": timeouts.connect, "read": None, "write": None, "pool": None if self._client else timeouts.connect}
        if isinstance(self._client, httpx.AsyncClient):
            client = self._client
            ours = client.build_request(method, url, headers=dict(headers), content=body, timeout=httpx.Timeout(**clocks))
            return lambda: client.send(ours, stream=True, follow_redirects=False)
        transport = self._client or self._transport(secure=url[:6].lower() == "https:")
        request = httpx.Request(method, _parsed(url), headers=headers, content=body, extensions={"timeout": clocks})
        return lambda: transport.handle_async_request(request)

    def _transport(self, *, secure: bool) -> "httpx.AsyncBaseTransport":
        """The transport of the running loop. Plain HTTP has its own, for loading certificates takes 20 ms."""
        transports = self._transports.get({})
        if secure not in transports:
            transports[secure] = _trio_transport(secure) if _on_trio() else _asyncio_transport(secure)
            self._transports.set(transports)
        return transports[secure]


class _Clocks:
    """The waits of one exchange. Each is scoped by its own clock and by the deadline, whichever ends first."""

    __slots__ = ("_endpoint", "_until", "timeouts")

    def __init__(self, url: str, deadline: float | None, timeouts: Timeouts) -> None:
        self._endpoint = address(url)
        self._until = math.inf if deadline is None else deadline
        self.timeouts = timeouts

    async def head(self, send: "Callable[[], Awaitable[httpx.Response]]") -> "httpx.Response":
        return await self._within(self.timeouts.first_byte, "no answer", send)

    async def body(self, response: "httpx.Response") -> AsyncGenerator[bytes, None]:
        coding = response.headers.get("content-encoding", "identity")
        async with aclosing(self._pieces(response)) as pieces:
            if coding == "identity":
                async for piece in pieces:
                    yield piece
            else:  # nobody asked for it, so it is rare enough to be decoded in one go
                yield self._decoded(coding, b"".join([piece async for piece in pieces]))

    def _decoded(self, coding: str, raw: bytes) -> bytes:
        import httpx

        if any(name in coding.lower() for name in ("br", "zstd")):  # whether httpx reads them depends on what else is installed
            raise Unreachable(self._endpoint, f"its answer is {coding} data, which nobody asked for")
        try:
            return httpx.Response(200, headers={"content-encoding": coding}, content=raw).content
        except httpx.DecodingError as error:
            raise Unreachable(self._endpoint, f"its answer is no {coding} data: {error}") from error

    async def _pieces(self, response: "httpx.Response") -> AsyncGenerator[bytes, None]:
        source = aiter(cast("AsyncIterable[bytes]", response.stream))
        try:
            while (
                piece := await self._within(self.timeouts.idle, "silence in mid-answer", lambda: anext(source, None))
            ) is not None:
                if piece:
                    yield piece
        finally:
            if isinstance(source, AsyncGenerator):
                await source.aclose()

    async def _within(self, seconds: float, what: str, step: Callable[[], Awaitable[T]]) -> T:
        began = anyio.current_time()
        left = max(0.0, self._until - began)
        if left > 0:
            with anyio.CancelScope(deadline=began + min(seconds, left)):
                try:
                    return await step()
                except _breakages() as error:
                    raise Unreachable(self._endpoint, _why(error, self.timeouts)) from error
        raise Unreachable(
            self._endpoint,
            f"{what} for {seconds:g} s" if seconds <= left else f"{what} when its deadline came after {left:.3g} s",
            usage=UNMETERED if left > 0 else None,  # it was sent, and may be paid for
        )


async def _whole(answer: AnswerStream) -> Answer:
    body = b"".join([chunk async for chunk in answer.chunks])
    return Answer(status=answer.status, headers=answer.headers, body=body)


def _refuse_illegal(headers: Headers) -> None:
    """Libraries quote a bad header in their errors, and it may be a key: so it never gets there."""
    for name, value in headers.items():
        if not _LEGAL_VALUE.fullmatch(value):
            raise ConfigurationError(f"the value of header {name!r} has a line break or a letter that HTTP does not allow")


def _why(error: Exception, timeouts: Timeouts) -> str:
    """What broke, in a few words. The adapter reports many faults as timeouts: what the library below it said is right."""
    import httpx

    cause = error.__cause__
    genuine = cause if cause is not None and type(cause).__module__.startswith("aiohttp") else error
    if isinstance(genuine, httpx.ConnectTimeout | httpx.PoolTimeout | TimeoutError):
        return f"no connection within {timeouts.connect:g} s"
    return f"{genuine} ({type(genuine).__name__})" if str(genuine) else type(genuine).__name__


def _breakages() -> tuple[type[Exception], ...]:
    """What transports raise when a connection fails. The adapter lets some errors of the library below it through."""
    import httpx

    aiohttp = sys.modules.get("aiohttp")
    return (httpx.HTTPError, OSError) if aiohttp is None else (httpx.HTTPError, OSError, aiohttp.ClientError)


def _on_trio() -> bool:
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())


@lru_cache(256)
def _parsed(url: str) -> "httpx.URL":
    import httpx

    try:
        return httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"{address(url)!r} is no web address: {error}") from None


@cache
def _trusting(secure: bool) -> ssl.SSLContext:
    import httpx

    # A context without certificates trusts nobody, which is all that plain HTTP needs.
    return httpx.create_ssl_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _trio_transport(secure: bool) -> "httpx.AsyncBaseTransport":
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEP_ALIVE)
    return httpx.AsyncHTTPTransport(verify=_trusting(secure), limits=limits)


def _asyncio_transport(secure: bool) -> "httpx.AsyncBaseTransport":
    import aiohttp
    from httpx_aiohttp import AiohttpTransport

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=0, ssl=_trusting(secure), keepalive_timeout=KEEP_ALIVE)
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    return AiohttpTransport(verify=_trusting(secure), client=session)
