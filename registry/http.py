"""The one HTTP door: every request that leaves this layer goes through it.

It takes bytes and gives bytes. Each event loop has transports of its own, opened at the first use and closed when it ends,
if not by `HttpDoor.aclose` before: a second loop in one process never meets a connection of the first. Whatever goes wrong
below comes out as `Unreachable`. Redirects aren't followed, and nothing is repeated: that is for those who know what a repeat
costs.
"""

import math
import re
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Self, TypeVar

import anyio
from anyio.lowlevel import RunVar
from msgspec import Struct

from registry.errors import ConfigurationError, Unreachable
from registry.loops import at_loop_end
from registry.transports import Arriving, Headers, OverHttpx, Transport, breakages, own_transport, why
from registry.usage import UNMETERED

if TYPE_CHECKING:
    from registry.transports import Client

T = TypeVar("T")

# Answers come plain: providers compress streams in ways that decoders stumble over, and replies are short.
_DEFAULTS = {"accept-encoding": "identity", "user-agent": "dagwright"}
_ADDRESS = re.compile(r"(?P<scheme>https?)://(?:[^/?#@]*@)?(?P<rest>[^/?#@\s][^?#\s]*)", re.IGNORECASE)
_LEGAL_VALUE = re.compile(r"[\t\x20-\x7e]*")


class Timeouts(Struct, frozen=True, kw_only=True):
    """The three clocks of a request, in seconds: until connected, until the head of the answer, between two reads."""

    connect: float = 10.0
    first_byte: float = 300.0
    idle: float = 120.0


TIMEOUTS = Timeouts()


class Answer(Struct, frozen=True, kw_only=True):
    """A whole answer, of any status."""

    status: int
    headers: Headers
    body: bytes


class AnswerStream(Struct, frozen=True, kw_only=True):
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
    transport. It serves one event loop and stays the caller's to close. Its pool should have a place for every request slot: who
    waits for one waits half the time that there is for an answer. Without a client TLS certificates are always verified.

        async with httpx.AsyncClient(proxy=proxy, verify=ssl_context, headers={"x-team": "a"}) as client:
            models = [connect("openai:gpt-4.1", door=HttpDoor(client))]
    """

    def __init__(self, client: "Client | None" = None) -> None:
        self._client = client
        self._transports: RunVar[dict[bool, Transport]] = RunVar("dagwright HTTP transports")

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
        return await self._whole("POST", url, headers, body, clocks=_Clocks(url, deadline, timeouts))

    async def get(self, url: str, headers: Headers, *, deadline: float | None = None, timeouts: Timeouts = TIMEOUTS) -> Answer:
        """GET the whole answer."""
        return await self._whole("GET", url, headers, None, clocks=_Clocks(url, deadline, timeouts))

    @asynccontextmanager
    async def stream(
        self, url: str, headers: Headers, body: bytes, *, deadline: float | None = None, timeouts: Timeouts = TIMEOUTS
    ) -> AsyncIterator[AnswerStream]:
        """POST `body` and read the answer as it arrives; leaving the block drops what has not been read."""
        clocks = _Clocks(url, deadline, timeouts)
        answer = await self._sent("POST", url, headers, body, clocks=clocks)
        chunks = clocks.body(answer)
        try:
            yield AnswerStream(status=answer.status, headers=answer.headers, chunks=chunks)
        finally:
            try:
                await chunks.aclose()
            finally:
                await _dropped(answer)

    async def _whole(self, method: str, url: str, headers: Headers, body: bytes | None, *, clocks: "_Clocks") -> Answer:
        answer = await self._sent(method, url, headers, body, clocks=clocks)
        try:
            return Answer(status=answer.status, headers=answer.headers, body=await clocks.whole(answer))
        finally:
            await _dropped(answer)

    async def _sent(self, method: str, url: str, headers: Headers, body: bytes | None, *, clocks: "_Clocks") -> Arriving:
        """The answer as soon as its head is there. To be dropped."""
        _refuse_illegal(headers)
        transport = await self._transport(secure=url[:6].lower() == "https:", clocks=clocks)
        plain, credentials = _parted(url)
        headers = {**_DEFAULTS, **credentials, **headers}
        return await clocks.head(lambda: transport.send(method, plain, headers, body, connect=clocks.timeouts.connect))

    async def _transport(self, *, secure: bool, clocks: "_Clocks") -> Transport:
        """The caller's, or that of the running loop."""
        if self._client is not None:
            return OverHttpx(self._client, place=clocks.place)
        transports = self._transports.get({})
        if secure not in transports:
            await at_loop_end(self, self.aclose)
            transports[secure] = own_transport(secure=secure)
            self._transports.set(transports)
        return transports[secure]


class _Clocks:
    """The waits of one exchange. Each is scoped by its own clock and by the deadline, whichever ends first."""

    __slots__ = ("_endpoint", "_until", "timeouts")

    def __init__(self, url: str, deadline: float | None, timeouts: Timeouts) -> None:
        self._endpoint = address(url)
        self._until = math.inf if deadline is None else deadline
        self.timeouts = timeouts

    @property
    def place(self) -> float:
        """Seconds until a place in a pool must be free, so that as many are left for the answer."""
        return max(0.0, min(self.timeouts.first_byte, self._until - anyio.current_time()) / 2)

    async def head(self, send: Callable[[], Awaitable[Arriving]]) -> Arriving:
        return await self._within(self.timeouts.first_byte, "no answer", send)

    async def body(self, answer: Arriving) -> AsyncGenerator[bytes, None]:
        if _coding(answer) != "identity":  # nobody asked for it, so it is rare enough to be decoded in one go
            yield await self.whole(answer)
            return
        while piece := await self._piece(answer):
            yield piece

    async def whole(self, answer: Arriving) -> bytes:
        pieces = []
        while piece := await self._piece(answer):
            pieces.append(piece)
        return self._decoded(_coding(answer), b"".join(pieces))

    def _decoded(self, coding: str, raw: bytes) -> bytes:
        if coding == "identity" or not raw:
            return raw
        import httpx

        if any(name in coding.lower() for name in ("br", "zstd")):  # whether httpx reads them depends on what else is installed
            raise Unreachable(self._endpoint, f"its answer is {coding} data, which nobody asked for")
        try:
            return httpx.Response(200, headers={"content-encoding": coding}, content=raw).content
        except httpx.DecodingError as error:
            raise Unreachable(self._endpoint, f"its answer is no {coding} data: {error}") from error

    async def _piece(self, answer: Arriving) -> bytes:
        if anyio.current_time() < self._until and (piece := answer.ready()) is not None:
            return piece  # as most are in a fast stream: a scope would cost more than they do
        return await self._within(self.timeouts.idle, "silence in mid-answer", answer.more)

    async def _within(self, seconds: float, what: str, step: Callable[[], Awaitable[T]]) -> T:
        began = anyio.current_time()
        left = max(0.0, self._until - began)
        if left > 0:
            with anyio.CancelScope(deadline=began + min(seconds, left)):
                try:
                    return await step()
                except breakages() as error:
                    raise Unreachable(self._endpoint, why(error, self.timeouts.connect)) from error
        raise Unreachable(
            self._endpoint,
            f"{what} for {seconds:g} s" if seconds <= left else f"{what} when its deadline came after {left:.3g} s",
            usage=UNMETERED if left > 0 else None,  # it was sent, and may be paid for
        )


def _coding(answer: Arriving) -> str:
    return answer.headers.get("content-encoding", "identity")


async def _dropped(answer: Arriving) -> None:
    with suppress(*breakages()):
        await answer.close()


def _refuse_illegal(headers: Headers) -> None:
    """Libraries quote a bad header in their errors, and it may be a key: so it never gets there."""
    for name, value in headers.items():
        if not _LEGAL_VALUE.fullmatch(value):
            raise ConfigurationError(f"the value of header {name!r} has a line break or a letter that HTTP does not allow")


@lru_cache(256)
def _parted(url: str) -> tuple[str, Headers]:
    """The URL as it is sent, and the header that its user and password mean: libraries differ in what they make of those."""
    import httpx

    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"{address(url)!r} is no web address: {error}") from None
    if not parsed.userinfo:
        return str(parsed), {}
    credentials = b64encode(f"{parsed.username}:{parsed.password}".encode()).decode()
    return str(parsed.copy_with(username=None, password=None)), {"authorization": f"Basic {credentials}"}
