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
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

import anyio
from msgspec import Struct

from registry.errors import ConfigurationError, Unreachable
from registry.loops import PerLoop, at_loop_end
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

HEADS = 256
"""How many heads of requests a door remembers: there is one for each model."""


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
        self._head = lru_cache(HEADS)(_head)  # the door's own: keys are in it, which go when it does
        self._transports: PerLoop[dict[bool, Transport]] = PerLoop(dict)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of the running event loop. The door can be used again afterwards."""
        kept = self._transports.get()
        transports = [*kept.values()]
        kept.clear()
        for transport in transports:
            await transport.aclose()

    async def post(
        self, url: str, headers: Headers, body: bytes, *, deadline: float | None = None, timeouts: Timeouts = TIMEOUTS
    ) -> Answer:
        """POST `body` and read the whole answer. `deadline` is a moment of `anyio.current_time()`."""
        clocks = _Clocks(url, deadline, timeouts)
        return await clocks.read(await self._sent("POST", url, headers, body, clocks=clocks))

    async def get(self, url: str, headers: Headers, *, deadline: float | None = None, timeouts: Timeouts = TIMEOUTS) -> Answer:
        """GET the whole answer."""
        clocks = _Clocks(url, deadline, timeouts)
        return await clocks.read(await self._sent("GET", url, headers, None, clocks=clocks))

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
                await answer.close()

    async def _sent(self, method: str, url: str, headers: Headers, body: bytes | None, *, clocks: "_Clocks") -> Arriving:
        """The answer as soon as its head is there. To be dropped."""
        head, limits = self._head(url, *headers.items()), clocks.timeouts
        transport: Transport = (
            self._transports.get().get(head.secure) or await self._opened(secure=head.secure)
            if self._client is None
            else OverHttpx(self._client, place=clocks.place)
        )
        return await clocks.within(
            limits.first_byte,
            "no answer",
            lambda: transport.send(method, head.url, head.headers, body, connect=limits.connect),
        )

    async def _opened(self, *, secure: bool) -> Transport:
        """A new transport, for the running loop."""
        await at_loop_end(self, self.aclose)
        transport = self._transports.get()[secure] = own_transport(secure=secure)
        return transport


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

    async def body(self, answer: Arriving) -> AsyncGenerator[bytes, None]:
        if _coding(answer) != "identity":  # nobody asked for it, so it is rare enough to be decoded in one go
            yield await self._whole(answer)
            return
        while piece := await self._piece(answer, late=anyio.current_time() >= self._until):
            yield piece

    async def read(self, answer: Arriving) -> Answer:
        """The whole of it."""
        try:
            return Answer(status=answer.status, headers=answer.headers, body=await self._whole(answer))
        finally:
            await answer.close()

    async def _whole(self, answer: Arriving) -> bytes:
        pieces = []  # of which those that have come already take no time
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

    async def _piece(self, answer: Arriving, *, late: bool = False) -> bytes:
        """The next one, which has mostly come already: a scope would cost more than that."""
        piece = None if late else answer.ready()
        return await self.within(self.timeouts.idle, "silence in mid-answer", answer.more) if piece is None else piece

    async def within(self, seconds: float, what: str, step: Callable[[], Awaitable[T]]) -> T:
        """What `step` comes to in so many seconds. If it comes to nothing, `what` is what there was."""
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


class _Head(Struct, frozen=True, kw_only=True):
    """Where a request goes, over which kind of connection, and with which headers."""

    url: str
    secure: bool
    headers: Headers


def _head(url: str, *headers: tuple[str, str]) -> _Head:
    """What is sent before a body. ConfigurationError for what must not be."""
    for name, value in headers:
        if not _LEGAL_VALUE.fullmatch(value):  # libraries quote it in their errors, and it may be a key: so it never gets there
            raise ConfigurationError(f"the value of header {name!r} has a line break or a letter that HTTP does not allow")
    plain, credentials = _parted(url)
    return _Head(url=plain, secure=plain.startswith("https:"), headers={**_DEFAULTS, **credentials, **dict(headers)})


def _parted(url: str) -> tuple[str, Headers]:
    """The URL as it is sent, and the header that its user and password mean: libraries differ in what they make of those."""
    if fault := _fault(url):
        raise ConfigurationError(f"{address(url)!r} is no web address: {fault}")
    parts = urlsplit(url)
    user, mark, host = parts.netloc.rpartition("@")
    plain = urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
    if not mark:
        return plain, {}
    name, _, password = user.partition(":")
    credentials = b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode()
    return plain, {"authorization": f"Basic {credentials}"}


def _fault(url: str) -> str:
    """What is wrong with it as an address, empty for nothing."""
    if " " in url or not url.isprintable():
        return "there is a character in it that no address has"
    try:
        port = urlsplit(url).port
    except ValueError as error:
        return str(error)
    return "no server has port 0" if port == 0 else ""
