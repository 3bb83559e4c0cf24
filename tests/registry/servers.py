"""A tiny HTTP server on a loopback socket, for tests of the real transports."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
from anyio.abc import SocketAttribute, SocketStream

Script = Callable[[bytes], list[bytes]]
"""From a request to what is written, piece by piece. An empty piece closes the connection."""


@dataclass(kw_only=True)
class Server:
    """`url` is its base; `connections` counts those it accepted, `requests` holds the raw requests it read."""

    url: str
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[Server]:
    """Serve by `script` until the block is left."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0, backlog=256)
    server = Server(url=f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}")

    async def talk(stream: SocketStream) -> None:
        server.connections += 1
        async with stream:
            try:
                while request := await _request(stream):
                    server.requests.append(request)
                    for piece in script(request):
                        if not piece:
                            return
                        await stream.send(piece)
                        await anyio.lowlevel.checkpoint()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, talk)
        yield server
        group.cancel_scope.cancel()


async def _request(stream: SocketStream) -> bytes:
    raw = b""
    while b"\r\n\r\n" not in raw:
        raw += await stream.receive()
    head, _, body = raw.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += await stream.receive()
    return head + b"\r\n\r\n" + body


def response(body: bytes, *, status: str = "200 OK", media: str = "application/json") -> bytes:
    """The bytes of one whole HTTP answer."""
    return f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def chunked(*pieces: bytes) -> list[bytes]:
    """The bytes of an event stream that arrives in these pieces."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces), b"0\r\n\r\n"]
