"""Transactions: what comes together is committed together, and what fails fails alone."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.lowlevel
import pytest

from orchestrator.errors import JournalUnusable, LeaseLost
from orchestrator.journal.commits import Blocking, Commits, InThread, Transaction, Work
from orchestrator.journal.schema import open_database
from tests.orchestrator.journal.opening import Clock

pytestmark = pytest.mark.anyio

T = TypeVar("T")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


async def slow(work: Callable[[], T], /) -> T:
    """Gives everybody time to come while it is at work."""
    await anyio.sleep(1)
    return work()


@asynccontextmanager
async def commits(path: Path, said: list[str], *, blocking: Blocking = slow) -> AsyncIterator[Commits]:
    """With a list of the transactions' beginnings and ends, in order."""
    connection = open_database(path, "normal")
    connection.set_trace_callback(lambda statement: said.append(statement.split()[0]))
    opened = Commits(connection, path, blocking=blocking, now=Clock())
    yield opened
    await opened.close()


def begin(run: str) -> Work[int]:
    return lambda at: at.tables.begin(run)


async def beside(opened: Commits, write: Callable[[Work[int]], Awaitable[None]], *works: Work[int]) -> None:
    """Write these together, which is to say while another transaction is committed."""
    async with anyio.create_task_group() as group:
        group.start_soon(opened.write, begin("first"))
        while not opened._busy:
            await anyio.lowlevel.checkpoint()
        for work in works:
            group.start_soon(write, work)


def names(at: Transaction) -> list[str]:
    return [run for _, run in at.tables.runs()]


async def test_what_comes_meanwhile_goes_together(path: Path) -> None:
    """The first writes at once, all that come while it is committed are committed next, each with its own result."""
    said: list[str] = []
    numbers: dict[str, int] = {}

    async def write(run: str) -> None:
        numbers[run] = await opened.write(begin(run))

    async with commits(path, said) as opened:
        async with anyio.create_task_group() as group:
            for run in "abcdefgh":
                group.start_soon(write, run)

        assert 2 == said.count("BEGIN")
        assert 2 == said.count("COMMIT")
        assert sorted(numbers.values()) == list(range(1, 9))
        assert {*"abcdefgh"} == set(await opened.read(names))
        await opened.write(begin("later"))
        assert 4 == said.count("BEGIN")  # with the reading


async def test_an_error_of_ours_fails_alone(path: Path) -> None:
    """Those in the same transaction are written."""
    failed: list[str] = []

    def lost(at: Transaction) -> int:
        raise LeaseLost("r", 1, 2)

    async def write(work: Work[int]) -> None:
        try:
            await opened.write(work)
        except LeaseLost as error:
            failed.append(error.run)

    async with commits(path, []) as opened:
        async with anyio.create_task_group() as group:
            for work in (begin("a"), begin("b"), lost, begin("c"), lost):
                group.start_soon(write, work)

        assert ["r", "r"] == failed
        assert {*"abc"} == set(await opened.read(names))


async def test_an_error_of_the_file_fails_all_of_them(path: Path) -> None:
    """Nothing of that transaction is written, everybody in it is told, and the next one works."""
    failed: list[str] = []

    async def write(work: Work[int]) -> None:
        try:
            await opened.write(work)
        except JournalUnusable as error:
            failed.append(str(error))

    async with commits(path, []) as opened:
        await opened.write(begin("there"))
        await beside(opened, write, begin("a"), begin("there"), begin("b"))

        assert 3 == len(failed)
        assert all("journal.db" in said and "UNIQUE" in said for said in failed)
        assert ["there", "first"] == await opened.read(names)
        await opened.write(begin("a"))


async def test_a_bug_is_not_swallowed(path: Path) -> None:
    """It comes out of the transaction that it broke; those beside it are told that they wrote nothing, and the next one works."""
    seen: list[str] = []

    def bug(at: Transaction) -> int:
        at.tables.begin("half")
        raise ZeroDivisionError

    async def write(work: Work[int]) -> None:
        try:
            await opened.write(work)
        except (JournalUnusable, ZeroDivisionError) as error:
            seen.append(type(error).__name__)

    async with commits(path, []) as opened:
        await beside(opened, write, bug, begin("a"))

        assert ["JournalUnusable", "ZeroDivisionError"] == sorted(seen)
        assert ["first"] == await opened.read(names)
        await opened.write(begin("a"))


async def test_reading_writes_nothing(path: Path) -> None:
    """What a reader changes, and what it leaves open when it fails, is undone."""
    async with commits(path, []) as opened:
        await opened.read(begin("a"))
        with pytest.raises(JournalUnusable, match=r"journal\.db.*no such table"):
            await opened.read(lambda at: at.tables._connection.execute("SELECT * FROM nobody"))

        assert [] == await opened.read(names)


async def test_a_cancelled_write_is_written(path: Path) -> None:
    """The one that commits and one that waits are both done when the cancellation comes through."""
    async with commits(path, []) as opened:
        async with anyio.create_task_group() as group:
            for run in "ab":
                group.start_soon(opened.write, begin(run))
            group.cancel_scope.cancel()

        assert {*"ab"} == set(await opened.read(names))


@pytest.mark.real_clock
async def test_the_loop_goes_on_meanwhile(path: Path) -> None:
    """In a thread a write that has to wait for another process holds nobody up, and others of ours wait their turn."""
    async with commits(path, [], blocking=InThread()) as opened:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as group:
            for run in "abc":
                group.start_soon(opened.write, begin(run))
            await anyio.sleep(0.01)
            other.execute("ROLLBACK")
        other.close()

        assert {*"abc"} == set(await opened.read(names))
