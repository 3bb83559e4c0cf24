"""A crowd of clients of one server: such as follow a run and are cut off now and then, such as stop reading, such as never get to
the end of what they want to say. Raw protocols, so that a thousand of them fit on one core."""

import asyncio
import math
import socket
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from random import Random
from typing import cast

import httptools

STALLED_AFTER = 20.0
"""A reader that stops does so within so many seconds."""

PROBE, TRICKLE, HEALTH = 0.25, 1.0, 0.1
"""Seconds between two looks whether one was cut off, two bytes of a head, and two questions after the server's health."""

HOPELESS = 60.0
"""Seconds after which one that was not cut off never will be."""

NARROW = 4096
"""Bytes that the kernel takes in for one that does not read: with more, no server could see for long that it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the crowd goes."""

    port: int
    path: str
    token: str

    def request(self, last: str = "") -> bytes:
        head = [f"GET {self.path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {self.token}"]
        return "\r\n".join([*head, *([f"Last-Event-ID: {last}"] if last else []), "", ""]).encode()


@dataclass(slots=True, kw_only=True)
class Follower:
    """Follows the run to its end, and comes back whenever it was cut off. `stay` is the mean seconds between that.

    `ids` are those of all messages in the order they came. Each came at a moment `came`, on a connection that was `asked` for.
    `torn` are the moments at which a stream broke off: neither had the client left nor the server ended it.
    """

    place: Place
    chance: Random
    stay: float
    ids: list[str] = field(default_factory=list)
    came: "array[float]" = field(default_factory=lambda: array("d"))
    asked: "array[float]" = field(default_factory=lambda: array("d"))
    over: bool = False
    cuts: int = 0
    torn: "array[float]" = field(default_factory=lambda: array("d"))

    async def follow(self) -> None:
        loop = asyncio.get_running_loop()
        while not self.over:
            try:
                _, stream = await loop.create_connection(lambda: _Stream(self), "127.0.0.1", self.place.port)
            except OSError:  # there is no server just now
                await asyncio.sleep(self.chance.uniform(0.1, 0.4))
                continue
            await asyncio.wait([stream.closed], timeout=self.chance.expovariate(1 / self.stay))
            if not stream.closed.done():
                self.cuts += 1
                stream.transport.abort()
            elif not stream.whole:
                self.torn.append(time.time())
            elif not self.over:  # the server ends
                await asyncio.sleep(self.chance.uniform(0.1, 0.4))

    def take(self, block: bytes, now: float, asked: float) -> None:
        """One message, or a comment. Those of Glimpses have no id."""
        name = block.partition(b"id: ")[2].partition(b"\n")[0] if block.startswith((b"id: ", b":", b"retry:")) else b""
        if name:
            self.ids.append(name.decode())
            self.came.append(now)
            self.asked.append(asked)
            self.over = b"\nevent: done\n" in block


class _Stream(asyncio.Protocol):
    """One connection of a follower."""

    transport: asyncio.Transport

    def __init__(self, follower: Follower) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.whole = False
        self._follower, self._rest = follower, b""
        self._parser = httptools.HttpResponseParser(self)
        self._asked = self._now = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._asked = time.time()
        self.transport.write(self._follower.place.request(self._follower.ids[-1] if self._follower.ids else ""))

    def data_received(self, data: bytes) -> None:
        self._now = time.time()
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        *blocks, self._rest = (self._rest + body).split(b"\n\n")
        for block in blocks:
            self._follower.take(block, self._now, self._asked)

    def on_message_complete(self) -> None:
        self.whole = True
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (so asyncio calls it)
        if not self.closed.done():
            self.closed.set_result(None)


class _Peer(asyncio.Protocol):
    """A connection that is cut off one day."""

    def __init__(self) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (so asyncio calls it)
        if not self.closed.done():
            self.closed.set_result(None)


async def stall(place: Place, chance: Random) -> float:
    """Follow the run, and stop reading. Returns how many seconds after that one was cut off, infinity if never.

    Whoever does not read does not see that, so it writes what means nothing between two requests: a peer that is gone refuses it.
    """
    narrow = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW)
    narrow.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(narrow, ("127.0.0.1", place.port))
    transport, peer = await loop.create_connection(_Peer, sock=narrow)
    transport.write(place.request())
    await asyncio.wait([peer.closed], timeout=chance.uniform(0, STALLED_AFTER))
    transport.pause_reading()
    return await _cut_off(transport, peer, repeat(b"\r\n"), PROBE)


async def trickle(place: Place) -> float:
    """Say a byte of a head now and then. Returns after how many seconds one was cut off, infinity if never."""
    transport, peer = await asyncio.get_running_loop().create_connection(_Peer, "127.0.0.1", place.port)
    head = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\nX-Slow: {'x' * 1000}".encode()
    return await _cut_off(transport, peer, (head[each : each + 1] for each in range(len(head))), TRICKLE)


async def _cut_off(transport: asyncio.Transport, peer: _Peer, said: Iterator[bytes], every: float) -> float:
    began = time.monotonic()
    while not peer.closed.done() and time.monotonic() - began < HOPELESS:
        transport.write(next(said))
        await asyncio.wait([peer.closed], timeout=every)
    took = time.monotonic() - began
    transport.abort()
    return took if peer.closed.done() else math.inf


async def healths(place: Place, stop: asyncio.Event) -> list[float]:
    """How many seconds each answer to a question after the server's health took, on a connection of its own."""
    took = []
    while not stop.is_set():
        began = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
        writer.write(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        took.append(time.monotonic() - began if answer.startswith(b"HTTP/1.1 200") else math.inf)
        writer.close()
        await asyncio.sleep(HEALTH)
    return took
