"""The database file of a journal: how it is laid out, opened, and refused."""

import os
import sqlite3
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from orchestrator.errors import JournalDamaged, JournalUnusable
from orchestrator.journal.holders import one_at_a_time

LAYOUT = 1
"""The version of the tables, kept as the file's `user_version`."""

PATIENCE = 30.0
"""Seconds to wait while another process writes. Its transactions take milliseconds."""

Synchronous = Literal["full", "normal"]
"""What a power cut may take with it: "full" nothing that was acknowledged, "normal" the last moments, but never the order."""

_OURS = 0x64616777
"""SQLite's `application_id`, so that no other program's database is taken for a journal."""

_RECORD = """
    run INTEGER NOT NULL, seq INTEGER NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL, key TEXT, effect TEXT,
    head INTEGER NOT NULL, crc INTEGER NOT NULL, line BLOB NOT NULL"""

_DURATIONS = """
CREATE TABLE IF NOT EXISTS durations (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, key TEXT NOT NULL, seconds REAL NOT NULL);
CREATE INDEX IF NOT EXISTS alike ON durations (key);
"""
"""What files that an earlier version made may lack. It does not read this, so it may go on using them."""

_TABLES = f"""
BEGIN IMMEDIATE;
CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE);
CREATE TABLE facts ({_RECORD});
CREATE UNIQUE INDEX places ON facts (run, seq);
CREATE UNIQUE INDEX outcomes ON facts (run, key) WHERE key IS NOT NULL;
CREATE TABLE damaged ({_RECORD}, cut REAL NOT NULL);
CREATE TABLE claims (
    run INTEGER NOT NULL, scope TEXT NOT NULL,
    epoch INTEGER NOT NULL, holder TEXT NOT NULL, token TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (run, scope)) WITHOUT ROWID;
PRAGMA application_id = {_OURS};
PRAGMA user_version = {LAYOUT};
COMMIT;
"""


def open_database(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    """A connection that may be used from any one thread at a time. The file and its folder are made, for their owner only.

    The whole file is looked through first, which takes some 2 ms a megabyte. Raises `JournalDamaged` and `JournalUnusable`.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_private(path)
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path, synchronous)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as error:
        raise explained(error, path) from error
    return connection


def explained(error: sqlite3.Error | OSError, path: Path) -> JournalDamaged | JournalUnusable:
    """What befell the file, as an error of ours."""
    if isinstance(error, OSError):
        return JournalUnusable(str(path), error.strerror or str(error))
    if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return JournalDamaged(str(path), str(error))
    return JournalUnusable(str(path), str(error))


def _make_private(path: Path) -> None:
    # Never opened where it exists: closing it again would take the locks of every other connection in this process with it.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


def _prepare(connection: sqlite3.Connection, path: Path, synchronous: Synchronous) -> None:
    # Text that is no text any more is to be found out by its checksum, row by row.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    if _is_empty(connection):
        with one_at_a_time(path.parent):
            if _is_empty(connection):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(_TABLES)
    _refuse_foreign(connection, path)
    connection.executescript(_DURATIONS)
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA secure_delete = ON")
    (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise JournalDamaged(str(path), found)
    connection.execute("DELETE FROM runs WHERE id IS NULL")  # there is none, but whoever can't write is told now


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    if owner != _OURS:
        raise JournalUnusable(str(path), "it is a database, but no journal")
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    if layout > LAYOUT:
        raise JournalUnusable(str(path), f"its layout is {layout}, and this version knows up to {LAYOUT}: a newer one wrote it")
