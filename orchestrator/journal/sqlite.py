"""A journal in an SQLite file: what was accepted outlives the process, and processes share it."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path

from orchestrator.errors import JournalDamaged, JournalUnusable, RunError, UnknownRun
from orchestrator.events.facts import TailCut
from orchestrator.events.recorded import Recorded
from orchestrator.journal.claims import Claim
from orchestrator.journal.commits import Blocking, Commits, InThread, Transaction
from orchestrator.journal.durations import durations
from orchestrator.journal.protocol import WHOLE_RUN, Line, Listed, Outline
from orchestrator.journal.records import Draft, drafted, examine, read_alone, recorded
from orchestrator.journal.schema import Synchronous, open_database
from orchestrator.journal.tables import Tables
from orchestrator.ports import Ports


class SqliteJournal:
    """Facts in one file. Each opening of it has one connection, and writes from one thread.

    A damaged record is never given out. Records at the end of a run that are not what was written are set aside by the next
    claim, which says so with a `TailCut`. Damage inside a run, or of a record that must not be forgotten, makes that run
    `JournalDamaged` and no other.
    """

    def __init__(self, commits: Commits) -> None:
        self._commits = commits

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: Path | str,
        *,
        synchronous: Synchronous = "full",
        now: Callable[[], datetime] | None = None,
        blocking: Blocking | None = None,
    ) -> AsyncIterator["SqliteJournal"]:
        """The journal for the length of the block; at its end every claim is free.

        `synchronous` "full" loses nothing that was accepted when the power fails, "normal" perhaps the last moments; a killed
        process loses nothing with either. `now` is the wall clock that claims run out by. `blocking` is how to do what blocks, in
        a thread by default.

        Raises `JournalDamaged` and `JournalUnusable`, which name the file.
        """
        blocking = blocking or InThread()
        path = await blocking(Path(path).resolve)
        connection = await blocking(lambda: open_database(path, synchronous))
        commits = Commits(connection, path, blocking=blocking, now=now or Ports().now)
        try:
            yield cls(commits)
        finally:
            await commits.close()

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> "SqliteWriter":
        claim = await self._commits.write(lambda at: _granted(at, run, scope, holder=holder, ttl=ttl))
        return SqliteWriter(self._commits, claim, ttl)

    async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
        return await self._commits.read(lambda at: _read(at.tables, run, after))

    async def runs(self) -> tuple[Listed, ...]:
        return await self._commits.read(lambda at: tuple(_listed(at, number, run) for number, run in at.tables.runs()))

    async def outline(self, run: str) -> Outline:
        return await self._commits.read(lambda at: _outline(at, _known(at.tables, run), run))

    async def outlines(self, prefix: str, *, most: int, before: str = "", unended: bool = False) -> tuple[Outline, ...]:
        def read(at: Transaction) -> tuple[Outline, ...]:
            older = _known(at.tables, before) if before else None
            newest = at.tables.newest(prefix, most=most, before=older, unended=unended)
            return tuple(_outline(at, number, run) for number, run in newest)

        return await self._commits.read(read)

    async def durations(self, keys: Iterable[str], *, prefix: str = "") -> Mapping[str, tuple[float, ...]]:
        if not await self._commits.read(lambda at: at.tables.remembers()):
            return {}
        wanted = tuple(keys)
        return await self._commits.read(lambda at: {key: took for key in wanted if (took := at.tables.durations(key, prefix))})

    async def forget(self, run: str) -> None:
        await self._commits.write(lambda at: _forget(at, run))


class SqliteWriter:
    """Appends to one run for as long as its claim is the latest."""

    glance = 1.0

    def __init__(self, commits: Commits, claim: Claim, ttl: float) -> None:
        self._commits, self._claim, self._ttl = commits, claim, ttl
        self._until = commits.now() + ttl
        self.epoch = claim.epoch

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        drafts = [drafted(fact, time) for fact, time in lines]
        return await self._commits.write(lambda at: self._append(at, drafts))

    async def renew(self) -> int:
        """Cheap unless a third of the claim's time is over: only then it is written how long it holds now."""
        if self._is_stale(self._commits.now()):
            await self.append()
        return await self._commits.read(self._glanced)

    async def release(self) -> None:
        with suppress(JournalDamaged, JournalUnusable):  # it runs out by itself, and ends with this process
            await self._commits.write(lambda at: at.claims.release(self._claim))

    def _append(self, at: Transaction, drafts: list[Draft]) -> tuple[Recorded, ...]:
        at.claims.refuse_lost(self._claim)
        written = at.tables.add(self._claim.run, self._claim.number, drafts)
        at.tables.remember(self._claim.number, durations(draft.fact for draft in drafts))
        if self._is_stale(at.now):
            self._until = at.now + self._ttl
            at.claims.extend(self._claim, self._until)
        return written

    def _glanced(self, at: Transaction) -> int:
        at.claims.refuse_lost(self._claim)
        return at.tables.last(self._claim.number)

    def _is_stale(self, now: float) -> bool:
        return self._until - now < self._ttl * 2 / 3


def _granted(at: Transaction, run: str, scope: str, *, holder: str, ttl: float) -> Claim:
    number = at.tables.number(run)
    if number is None:
        return at.claims.take(run, at.tables.begin(run), scope, holder=holder, ttl=ttl)
    at.claims.refuse_held(run, number, scope, but_by=holder)
    bad = examine(run, at.tables.rows(number)).bad
    if bad and scope != WHOLE_RUN:
        at.claims.refuse_held(run, number, WHOLE_RUN)  # its holder builds on what we would take away
    claim = at.claims.take(run, number, scope, holder=holder, ttl=ttl)
    for row in bad:
        at.tables.set_aside(number, row, now=at.now)
    if bad:
        at.tables.add(run, number, [drafted(TailCut(records=len(bad)), at.now)])
    return claim


def _read(tables: Tables, run: str, after: int) -> tuple[Recorded, ...]:
    rows = tables.rows(_known(tables, run), after=after)
    return tuple(recorded(run, row) for row in examine(run, rows, after=after).sound)


def _listed(at: Transaction, number: int, run: str) -> Listed:
    holder, _ = at.claims.held(number, WHOLE_RUN) or ("", 0.0)
    try:
        sound = examine(run, at.tables.rows(number)).sound
    except RunError as error:
        return Listed(run=run, holder=holder, damage=str(error))
    began, latest = (sound[0].time, sound[-1].time) if sound else (None, None)
    return Listed(run=run, facts=len(sound), began=began, latest=latest, holder=holder)


def _outline(at: Transaction, number: int, run: str) -> Outline:
    holder, _ = at.claims.held(number, WHOLE_RUN) or ("", 0.0)
    ends = at.tables.ends(number)
    if ends is None:
        return Outline(run=run, holder=holder)
    first, work, last, latest = ends
    try:
        began, worked = read_alone(run, first), work and read_alone(run, work)
    except RunError as error:
        return Outline(run=run, facts=last, holder=holder, damage=str(error))
    return Outline(run=run, facts=last, began=began.time, latest=latest, holder=holder, first=began, work=worked)


def _forget(at: Transaction, run: str) -> None:
    number = _known(at.tables, run)
    for scope in at.claims.scopes(number):
        at.claims.refuse_held(run, number, scope)
    at.tables.forget(number)


def _known(tables: Tables, run: str) -> int:
    """The run's number. Raises `UnknownRun`."""
    number = tables.number(run)
    if number is None:
        raise UnknownRun(run, [known for _, known in tables.runs()])
    return number
