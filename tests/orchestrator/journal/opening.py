"""How tests open journals in SQLite."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import anyio.lowlevel

from orchestrator.journal.commits import Blocking
from orchestrator.journal.sqlite import SqliteJournal

T = TypeVar("T")


class Clock:
    """A wall clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 1_765_000_000.0

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    async def later(self, seconds: float) -> None:
        self.seconds += seconds


async def inline(work: Callable[[], T], /) -> T:
    """Blocks the loop, so nothing else happens meanwhile: fit for a virtual clock."""
    await anyio.lowlevel.checkpoint()
    return work()


@asynccontextmanager
async def in_file(path: Path, clock: Clock | None = None, *, blocking: Blocking | None = inline) -> AsyncIterator[SqliteJournal]:
    async with SqliteJournal.open(path, now=clock or Clock(), synchronous="normal", blocking=blocking) as journal:
        yield journal
