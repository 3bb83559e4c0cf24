"""Deadlines for peers that are slow: to say what they want, to read what they get, and to leave.

The one place that is bound to asyncio, since it is bound to uvicorn's protocol, which has no such deadlines of its own. That of a
body is the guard's.
"""

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec import Struct
from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 64 * 1024
"""Bytes in which a peer must have said what it wants, or what comes with the last of them."""

UNREAD = 64 * 1024
"""Bytes that wait for a peer in our memory before it counts as one that does not read."""

UNSENT = 16 * 1024
"""Bytes that wait for it in the kernel besides those under way: without a limit there, a peer that stands still shows late."""

PROGRESS = 4 * 1024
"""Bytes that a peer takes in before a deadline for reading, and is then given the same time again."""

_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Deadlines(Struct, frozen=True, kw_only=True):
    """Seconds. `head`: for all of a request's head, from the first moment of the connection or from the end of the last response.

    `idle`: after it, a connection without a request is closed. `write`: for a peer to take something in when much waits for it.
    """

    head: float = 10.0
    idle: int = 5
    write: float = 10.0


class DeadlineProtocol(HttpToolsProtocol):
    """uvicorn's protocol over httptools, with deadlines. A peer that misses one is cut off.

    Where it is little that waits for a peer that takes in nothing, it is the kernel that keeps the deadline for writing.
    """

    def __init__(self, *args: Any, deadlines: Deadlines, **others: Any) -> None:
        super().__init__(*args, **others)
        self._deadlines = deadlines
        self._head: asyncio.TimerHandle | None = None
        self._write: asyncio.TimerHandle | None = None
        self._head_size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=UNREAD)
        for name, value in (("TCP_NOTSENT_LOWAT", UNSENT), ("TCP_USER_TIMEOUT", int(self._deadlines.write * 1000))):
            if hasattr(socket, name):  # some systems have neither
                transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._await_head(self._deadlines.head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        self._wrote()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Nothing that comes moves a deadline: only a whole head ends it."""
        if self._head is not None:
            self._head_size += len(data)
        super().data_received(data)
        if self._head is not None and self._head_size > LONGEST_HEAD and not self.transport.is_closing():
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._head_came()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # none of a pipeline is left
            self._await_head(self._deadlines.idle + self._deadlines.head)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._wrote()

    def _await_head(self, seconds: float) -> None:
        """A peer that is still taking in the last response is not late with the next request."""
        self._head_came()
        again = partial(self._await_head, seconds)
        self._head = self.loop.call_later(seconds, self._cut_off_unless_read, self.transport.get_write_buffer_size(), again)

    def _await_reading(self) -> None:
        self._wrote()
        waiting = self.transport.get_write_buffer_size()
        self._write = self.loop.call_later(self._deadlines.write, self._cut_off_unless_read, waiting, self._await_reading)

    def _cut_off_unless_read(self, waited: int, again: Callable[[], None]) -> None:
        """So much waited for the peer when the deadline was set. Where it has taken something in, the deadline is set anew."""
        if self.transport.get_write_buffer_size() + PROGRESS <= waited:
            again()
        else:
            self.transport.abort()

    def _head_came(self) -> None:
        self._head_size = 0
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _wrote(self) -> None:
        if self._write is not None:
            self._write.cancel()
            self._write = None


class DeadlineServer(Server):
    """uvicorn's server with that protocol, on sockets that are given. It leaves signals to whoever runs it."""

    def __init__(self, config: Config, deadlines: Deadlines) -> None:
        super().__init__(config)
        self._deadlines = deadlines

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Over TLS, shaking hands and taking leave have the deadline of a head as well."""
        seconds = self._deadlines.head if self.config.ssl else None
        self.servers = [
            await asyncio.get_running_loop().create_server(
                self._protocol,
                sock=listening,
                backlog=self.config.backlog,
                ssl=self.config.ssl,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=seconds,
            )
            for listening in sockets or ()
        ]
        self.started = True

    def _protocol(self) -> DeadlineProtocol:
        return DeadlineProtocol(config=self.config, server_state=self.server_state, app_state={}, deadlines=self._deadlines)
