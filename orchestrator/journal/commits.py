"""The one way to a database: off the event loop, one after another, and what comes at the same time is committed together."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import anyio
import anyio.to_thread
from msgspec import Struct

from orchestrator.errors import JournalUnusable, RunError
from orchestrator.journal.claims import Claims
from orchestrator.journal.holders import Presence
from orchestrator.journal.schema import explained
from orchestrator.journal.tables import Tables

T = TypeVar("T")


class Transaction(Struct, frozen=True):
    """One state of the database, read and written at one moment."""

    tables: Tables
    claims: Claims
    now: float


Work = Callable[[Transaction], T]
"""What is done in a transaction. It raises a `RunError` only before it has written anything."""


class Blocking(Protocol):
    """Does what blocks, never two things at a time."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


class InThread:
    """Beside the event loop."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(1)

    async def __call__(self, work: Callable[[], T], /) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


class Commits:
    """Reads and transactions of one connection. Whatever SQLite raises comes out as `JournalDamaged` or `JournalUnusable`."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, blocking: Blocking, now: Callable[[], datetime]) -> None:
        self._connection, self._path, self._blocking, self._now = connection, path, blocking, now
        self._presence = Presence(path)
        self._waiting: list[_Entry[Any]] = []
        self._busy = False

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now().timestamp()

    async def read(self, work: Work[T]) -> T:
        """The work's result, from one state of the database."""
        now = self.now()
        return await self._blocking(lambda: self._read(work, now))

    async def write(self, work: Work[T]) -> T:
        """The work's result, when it is committed. Can't be cancelled: it is done wholly, or raises and is not done at all."""
        entry = _Entry(work, self.now())
        self._waiting.append(entry)
        with anyio.CancelScope(shield=True):
            if self._busy:
                await entry.turn.wait()
            if not entry.over:
                await self._lead()
        if entry.error is not None:
            raise entry.error
        return entry.value

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._blocking(self._close)

    async def _lead(self) -> None:
        """Commit all that waits, and let the first who came meanwhile commit the next."""
        self._busy = True
        entries, self._waiting = self._waiting, []
        try:
            await self._blocking(lambda: self._commit(entries))
        finally:
            for entry in entries:
                entry.end(JournalUnusable(str(self._path), "what was written with it could not be written"))
            if self._waiting:
                self._waiting[0].turn.set()
            else:
                self._busy = False

    def _commit(self, entries: "list[_Entry[Any]]") -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for entry in entries:
                entry.attempt(self._at(entry.now))
            self._connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            for entry in entries:
                entry.error = entry.error or explained(error, self._path)
        else:
            for entry in entries:
                entry.committed = True
        finally:
            self._undo()

    def _read(self, work: Work[T], now: float) -> T:
        try:
            self._connection.execute("BEGIN")
            return work(self._at(now))
        except (sqlite3.Error, OSError) as error:
            raise explained(error, self._path) from error
        finally:
            self._undo()

    def _at(self, now: float) -> Transaction:
        return Transaction(Tables(self._connection), Claims(self._connection, self._presence, now), now)

    def _undo(self) -> None:
        """End the transaction that is open, if one is. A file that is past that was said to be so already."""
        with suppress(sqlite3.Error):
            self._connection.rollback()

    def _close(self) -> None:
        try:
            self._connection.close()
        finally:
            self._presence.close()


class _Entry(Generic[T]):
    """One work of a transaction, and what became of it. Its turn comes when it is over, or when it is to lead the next."""

    value: T

    def __init__(self, work: Work[T], now: float) -> None:
        self._work, self.now = work, now
        self.turn = anyio.Event()
        self.error: RunError | None = None
        self.committed = self.over = False

    def attempt(self, at: Transaction) -> None:
        try:
            self.value = self._work(at)
        except RunError as error:
            self.error = error

    def end(self, otherwise: RunError) -> None:
        if not self.committed:
            self.error = self.error or otherwise
        self.over = True
        self.turn.set()
