"""A real server on the loopback interface, and raw connections to it."""

import socket
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import ByteStream, SocketStream

from orchestrator.server.binding import bound
from orchestrator.server.guard import Guard
from orchestrator.server.serving import Serving, serve
from tests.orchestrator.server.guard.house import HARBOUR, HOST


async def nothing_to_drain(grace: float) -> None:
    """The app is at rest."""


@dataclass
class Live:
    """A server that runs."""

    port: int
    stop: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def end(self) -> None:
        """As a signal would."""
        self.stop.set()
        await self.ended.wait()


@asynccontextmanager
async def served(
    guard: Guard, serving: Serving | None = None, *, drain: Callable[[float], Awaitable[None]] = nothing_to_drain
) -> AsyncGenerator[Live, None]:
    """Leaving the block ends it."""
    sockets = bound("127.0.0.1", 0)
    live = Live(port=sockets[0].getsockname()[1])

    async def life() -> None:
        await serve(guard, sockets, serving or Serving(), stop=live.stop, drain=drain)
        live.ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(life)
        try:
            yield live
        finally:
            live.stop.set()


async def connected(live: Live) -> SocketStream:
    """A connection to it."""
    return await anyio.connect_tcp("127.0.0.1", live.port)


def request(path: str, *headers: str, method: str = "GET") -> bytes:
    """A request of the tenant harbour."""
    head = (f"{method} {path} HTTP/1.1", f"Host: {HOST}", f"Authorization: Bearer {HARBOUR}", *headers)
    return "\r\n".join((*head, "", "")).encode()


async def until(stream: ByteStream, ending: bytes) -> bytes:
    """All that comes up to the text that is waited for."""
    came = b""
    while ending not in came:
        came += await stream.receive()
    return came


async def is_cut(stream: ByteStream) -> bool:
    """Waits until the server closes the connection."""
    try:
        while True:
            await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return True


def narrow(live: Live) -> socket.socket:
    """A connection whose own buffer is small, so that it shows soon when nobody reads."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(("127.0.0.1", live.port))
    return made


def certificate(folder: Path) -> tuple[Path, Path]:
    """One that is signed by itself, and its key."""
    made, key = folder / "server.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    names = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    subprocess.run([*command, *names, "-keyout", key, "-out", made], check=True, capture_output=True)
    return made, key
