"""Runs and their Facts in a database."""

import sqlite3
from collections.abc import Iterator, Sequence

from orchestrator.events.recorded import Recorded
from orchestrator.journal.records import Draft, Row, read_alone

_AT_ONCE = 500
"""How many keys one query asks for: SQLite takes a limited number of values."""


class Tables:
    """What is known of runs, within one transaction. A run goes by its number, which outlasts its name."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def runs(self) -> list[tuple[int, str]]:
        """Number and name of every run, oldest first."""
        return self._connection.execute("SELECT id, run FROM runs ORDER BY id").fetchall()

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
        rows, all_of_them, last = [], [], self.last(number)
        for draft in drafts:
            known = outcomes.get(draft.key) if draft.key else None
            if known is None:
                last += 1
                rows.append((number, *draft.at(run, last)))
                known = Recorded(seq=last, time=draft.time, run=run, event=draft.fact)
                if draft.key:
                    outcomes[draft.key] = known
            all_of_them.append(known)
        self._connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return tuple(all_of_them)

    def set_aside(self, number: int, row: Row, *, now: float) -> None:
        """Move a damaged row to where nobody reads it, and nothing of it is lost."""
        query = "INSERT INTO damaged SELECT facts.*, ? FROM facts WHERE run = ? AND seq = ?"
        self._connection.execute(query, (now, number, row.seq))
        self._connection.execute("DELETE FROM facts WHERE run = ? AND seq = ?", (number, row.seq))

    def forget(self, number: int) -> None:
        self._connection.execute("DELETE FROM facts WHERE run = ?", (number,))
        self._connection.execute("DELETE FROM damaged WHERE run = ?", (number,))
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
