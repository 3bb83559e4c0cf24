"""A server as a process of its own, with a model that takes its time and says in a file what it was asked.

python -m tests.orchestrator.server.process JOURNAL ASKED SECONDS
"""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from pathlib import Path

import anyio

from orchestrator.journal.sqlite import SqliteJournal
from orchestrator.server.app import create_app
from orchestrator.server.binding import bound
from orchestrator.server.serving import Serving, serve
from registry.calls import Call
from registry.messages import Piece, Reply, Request
from registry.models.layer import ModelLayer
from tests.orchestrator.parts import part_of
from tests.orchestrator.server.driving import ordinary, service_of
from tests.orchestrator.server.guard.house import guard


class Slow(ModelLayer):
    """Writes down for whom it has an answer."""

    def __init__(self, asked: Path, seconds: float) -> None:
        super().__init__(ordinary())
        self._asked, self._seconds = os.open(asked, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), seconds

    async def chat(self, request: Request, call: Call) -> Reply:
        await anyio.sleep(self._seconds if part_of(request) == "step" else 0)
        reply = await self._inner.chat(request, call)
        self._say(call)
        return reply

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        self._say(call)
        async with aclosing(self._inner.stream_chat(request, call)) as pieces:
            async for piece in pieces:
                yield piece

    def _say(self, call: Call) -> None:
        os.write(self._asked, f"{call.run} {call.label}\n".encode())


async def life(journal: Path, asked: Path, seconds: float) -> None:
    async with (
        SqliteJournal.open(journal, synchronous="normal") as kept,
        service_of(Slow(asked, seconds), journal=kept) as service,
    ):
        sockets = bound("127.0.0.1", 0)
        sys.stdout.write(f"{sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await serve(guard(inside=create_app(service)), sockets, Serving(), stop=anyio.Event(), drain=service.drain)


if __name__ == "__main__":
    anyio.run(partial(life, Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])))
