"""Serves an app until it is told to stop, and then ends in good order. Needs asyncio, for it is uvicorn that serves."""

import math
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence

import anyio
from msgspec import Struct, field
from uvicorn import Config

from orchestrator.server.deadlines import DeadlineProtocol, Deadlines, DeadlineServer
from orchestrator.server.guard import Guard

PARTING = 2.0
"""Seconds for requests and streams to end when the app has come to rest; connections that are left are cut off."""


class Serving(Struct, frozen=True, kw_only=True):
    """`grace` is the seconds that the app has to come to rest. The `proxies` are addresses whose X-Forwarded-For is believed."""

    tls: ssl.SSLContext | None = None
    grace: float = 30.0
    proxies: tuple[str, ...] = ()
    deadlines: Deadlines = field(default_factory=Deadlines)


async def serve(
    guard: Guard,
    sockets: Sequence[socket.socket],
    serving: Serving,
    *,
    stop: anyio.Event,
    drain: Callable[[float], Awaitable[None]],
) -> None:
    """Serves on the sockets until `stop` is set, and closes them.

    Then `drain` is awaited, for `grace` seconds at most, which it is told: what goes on is to come to rest, and who asks is
    still answered. After it no connection is accepted, streams are closed, and what is left has a moment to end.
    """
    server, ended = DeadlineServer(_configured(guard, serving), serving.deadlines), anyio.Event()

    async def running() -> None:
        try:
            await server.serve(list(sockets))
        finally:
            for listening in sockets:
                listening.close()
            ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(running)
        await stop.wait()
        with anyio.move_on_after(serving.grace):
            await drain(serving.grace)
        server.should_exit = True
        guard.streams.close()
        with anyio.move_on_after(PARTING):
            await ended.wait()
        for connection in list(server.server_state.connections):
            connection.transport.abort()


def _configured(guard: Guard, serving: Serving) -> Config:
    tls = serving.tls
    return Config(
        guard,
        loop="none",
        http=DeadlineProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        workers=1,
        proxy_headers=bool(serving.proxies),
        forwarded_allow_ips=list(serving.proxies),
        timeout_keep_alive=serving.deadlines.idle,
        timeout_graceful_shutdown=math.ceil(PARTING) + 2,
        ssl_context_factory=None if tls is None else lambda _config, _default: tls,
    )
