"""Runs and their Facts in a database."""

import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from orchestrator.events.facts import Word
from orchestrator.events.recorded import Recorded
from orchestrator.journal.durations import LATEST, LOOKED_AT, Duration
from orchestrator.journal.records import Draft, Row, read_alone
from registry.values import kind_of

_WORDS = ", ".join(f"'{kind_of(word)}'" for word in get_args(Word))

_WORK = f"SELECT {{what}} FROM facts WHERE run = {{run}} AND kind NOT IN ({_WORDS}) ORDER BY seq DESC LIMIT 1"  # noqa: S608

_AT_ONCE = 500
"""How many keys one query asks for: SQLite takes a limited number of values."""


class Tables:
    """What is known of runs, within one transaction. A run goes by its number, which outlasts its name."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def runs(self) -> list[tuple[int, str]]:
        """Number and name of every run, oldest first."""
        return self._connection.execute("SELECT id, run FROM runs ORDER BY id").fetchall()

    def newest(self, prefix: str, *, most: int, before: int | None, unended: bool) -> list[tuple[int, str]]:
        """Number and name of the newest runs whose names begin so, the newest first; `before` is a run's number."""
        query = "SELECT id, run FROM runs WHERE substr(run, 1, length(?)) = ? AND id < ?"
        if unended:
            query += f" AND ({_WORK.format(what='kind', run='runs.id')}) IS NOT 'run_ended'"
        newest = sys.maxsize if before is None else before
        return self._connection.execute(f"{query} ORDER BY id DESC LIMIT ?", (prefix, prefix, newest, most)).fetchall()

    def ends(self, number: int) -> tuple[Row, Row | None, int, float] | None:
        """The run's first row, its last one that is no word from outside, and place and time of the last; None without rows."""
        first = next(self.rows(number), None)
        if first is None:
            return None
        last, time = self._connection.execute("SELECT seq, time FROM facts WHERE run = ? ORDER BY seq DESC", (number,)).fetchone()
        columns = ", ".join(Row._fields)
        work = self._connection.execute(_WORK.format(what=columns, run="?"), (number,)).fetchone()
        return first, Row._make(work) if work else None, last, time

    def number(self, run: str) -> int | None:
        found = self._connection.execute("SELECT id FROM runs WHERE run = ?", (run,)).fetchone()
        return found[0] if found else None

    def begin(self, run: str) -> int:
        """The number of a new run."""
        (number,) = self._connection.execute("INSERT INTO runs (run) VALUES (?) RETURNING id", (run,)).fetchone()
        return int(number)

    def rows(self, number: int, *, after: int = 0) -> Iterator[Row]:
        query = "SELECT seq, time, kind, key, effect, head, crc, line FROM facts WHERE run = ? AND seq > ? ORDER BY seq"
        return map(Row._make, self._connection.execute(query, (number, after)))

    def last(self, number: int) -> int:
        """The `seq` of the run's last Fact, 0 where it has none."""
        (last,) = self._connection.execute("SELECT max(seq) FROM facts WHERE run = ?", (number,)).fetchone()
        return last or 0

    def add(self, run: str, number: int, drafts: Sequence[Draft]) -> tuple[Recorded, ...]:
        """Write Facts behind the last one, except outcomes that are there already: those are given back as they are.

        Raises `JournalDamaged`, before anything is written, when what is there already is not sound.
        """
        outcomes = self._outcomes(run, number, [draft.key for draft in drafts if draft.key])
        fresh, all_of_them, last = [], [], self.last(number)
        for draft in drafts:
            known = outcomes.get(draft.key) if draft.key else None
            if known is None:
                fresh.append(draft)
                known = Recorded(seq=last + len(fresh), time=draft.time, run=run, event=draft.fact)
                if draft.key:
                    outcomes[draft.key] = known
            all_of_them.append(known)
        rows = ((number, *draft.at(run, seq)) for seq, draft in enumerate(fresh, last + 1))
        self._connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return tuple(all_of_them)

    def remember(self, number: int, took: Iterable[Duration]) -> None:
        """Keep how long steps of the run took."""
        rows = ((number, key, seconds) for key, seconds in took)
        self._connection.executemany("INSERT INTO durations (run, key, seconds) VALUES (?, ?, ?)", rows)

    def remembers(self) -> bool:
        """Whether it is known of any step how long it took."""
        return self._connection.execute("SELECT 1 FROM durations LIMIT 1").fetchone() is not None

    def durations(self, key: str, prefix: str) -> tuple[float, ...]:
        """How long steps took in runs with such names, the latest first."""
        query = "SELECT seconds FROM durations WHERE key = ? ORDER BY id DESC LIMIT ?"
        if not prefix:
            return tuple(seconds for (seconds,) in self._connection.execute(query, (key, LATEST)))
        query = """
            SELECT seconds FROM (SELECT id, run, seconds FROM durations WHERE key = ? ORDER BY id DESC LIMIT ?) AS latest
            JOIN runs ON runs.id = latest.run WHERE substr(runs.run, 1, ?) = ? ORDER BY latest.id DESC LIMIT ?"""
        found = self._connection.execute(query, (key, LOOKED_AT, len(prefix), prefix, LATEST))
        return tuple(seconds for (seconds,) in found)

    def set_aside(self, number: int, row: Row, *, now: float) -> None:
        """Move a damaged row to where nobody reads it, and nothing of it is lost."""
        query = "INSERT INTO damaged SELECT facts.*, ? FROM facts WHERE run = ? AND seq = ?"
        self._connection.execute(query, (now, number, row.seq))
        self._connection.execute("DELETE FROM facts WHERE run = ? AND seq = ?", (number, row.seq))

    def forget(self, number: int) -> None:
        self._connection.execute("DELETE FROM facts WHERE run = ?", (number,))
        self._connection.execute("DELETE FROM damaged WHERE run = ?", (number,))
        self._connection.execute("DELETE FROM durations WHERE run = ?", (number,))
        self._connection.execute("DELETE FROM claims WHERE run = ?", (number,))
        self._connection.execute("DELETE FROM runs WHERE id = ?", (number,))

    def _outcomes(self, run: str, number: int, keys: Sequence[str]) -> dict[str | None, Recorded]:
        """The outcomes that are there already, by their keys."""
        found: dict[str | None, Recorded] = {}
        for at in range(0, len(keys), _AT_ONCE):
            some = keys[at : at + _AT_ONCE]
            places = ", ".join("?" * len(some))
            query = f"SELECT seq, time, kind, key, effect, head, crc, line FROM facts WHERE run = ? AND key IN ({places})"  # noqa: S608
            for row in map(Row._make, self._connection.execute(query, (number, *some))):
                found[row.key] = read_alone(run, row)
        return found
