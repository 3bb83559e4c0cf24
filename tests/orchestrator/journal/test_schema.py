"""How a journal's file is made, opened and refused."""

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from orchestrator.errors import JournalDamaged, JournalUnusable
from orchestrator.journal.schema import LAYOUT, explained, open_database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def test_the_file_is_its_owners_alone(path: Path) -> None:
    """So are its folder, which is made if need be, and the files that SQLite puts beside it."""
    path = path.parent / "deep" / "down" / "journal.db"
    with closing(open_database(path, "full")) as database:
        database.execute("INSERT INTO runs (run) VALUES ('r')")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (path.parent, *path.parent.iterdir())}

    assert {"down": 0o700, "journal.db": 0o600, "journal.db-wal": 0o600, "journal.db-shm": 0o600} == modes


@pytest.mark.parametrize(("synchronous", "level"), [("full", 2), ("normal", 1)])
def test_how_it_is_opened(path: Path, synchronous: str, level: int) -> None:
    """Write-ahead log, as synchronous as was asked for, patient with others; the second time as well."""
    for _ in range(2):
        with closing(open_database(path, synchronous)) as database:  # type: ignore[arg-type]
            asked = ("journal_mode", "synchronous", "busy_timeout", "user_version", "secure_delete")
            found = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in asked]
            assert ["wal", level, 30_000, LAYOUT, 1] == found


def test_a_newer_layout_is_refused(path: Path) -> None:
    """It is said which file and which versions, and the file stays as it is."""
    open_database(path, "full").close()
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {LAYOUT + 1}")
    before = path.read_bytes()

    with pytest.raises(JournalUnusable, match=rf"journal\.db.*layout is {LAYOUT + 1}.*up to {LAYOUT}"):
        open_database(path, "full")
    assert before == path.read_bytes()


def test_another_programs_database_is_refused(path: Path) -> None:
    """A journal does not make itself at home in it."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE theirs (x)")

    with pytest.raises(JournalUnusable, match=r"journal\.db.*no journal"):
        open_database(path, "full")


@pytest.mark.parametrize("content", [b"not a database, but long enough to be one" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_what_is_no_database_is_refused(path: Path, content: bytes) -> None:
    """It is damaged, and the file is named."""
    path.write_bytes(content)
    with pytest.raises(JournalDamaged, match=r"journal\.db"):
        open_database(path, "full")
    assert content == path.read_bytes()


def test_an_empty_file_becomes_a_journal(path: Path) -> None:
    """As left behind by a process that died while it began one."""
    path.touch()
    with closing(open_database(path, "full")) as database:
        assert [] == database.execute("SELECT * FROM facts").fetchall()


def test_a_damaged_page_is_refused(path: Path) -> None:
    """Wherever the pages of tables and indexes are damaged, the file is not opened, and is named."""
    with closing(open_database(path, "full")) as database:
        rows = [(run, seq, 1.0, "kind", f"key{seq}", None, 1, 1, b"x" * 300) for run in range(5) for seq in range(20)]
        database.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        size = database.execute("PRAGMA page_size").fetchone()[0]
        used = {root for (root,) in database.execute("SELECT rootpage FROM sqlite_master WHERE name IN ('facts', 'places')")}
    whole = path.read_bytes()
    assert len(whole) > 10 * size

    for page in used | set(range(14, len(whole) // size + 1)):
        path.write_bytes(whole[: (page - 1) * size] + b"\xa5" * 64 + whole[(page - 1) * size + 64 :])
        with pytest.raises(JournalDamaged, match=r"journal\.db"):
            open_database(path, "full")


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A folder in which this process has no more rights than its owner gives it."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if root:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o700)


def test_a_read_only_file_is_refused() -> None:
    """At once, and not when the first Fact is to be written."""
    with as_nobody() as folder:
        path = folder / "journal.db"
        open_database(path, "full").close()
        path.chmod(0o400)
        with pytest.raises(JournalUnusable, match=r"journal\.db.*readonly"):
            open_database(path, "full")


@pytest.mark.parametrize("exists", [True, False])
def test_a_read_only_folder_is_refused(exists: bool) -> None:
    """Whether there is a journal in it or none yet."""
    with as_nobody() as folder:
        path = folder / "journal.db"
        if exists:
            open_database(path, "full").close()
        folder.chmod(0o500)
        with pytest.raises(JournalUnusable, match=r"journal\.db"):
            open_database(path, "full")


def test_a_folder_that_is_a_file_is_refused(path: Path) -> None:
    """The journal is named, and why it can't be there."""
    path.write_text("not a folder")
    with pytest.raises(JournalUnusable, match=r"journal\.db/journal\.db.*(exists|directory)"):
        open_database(path / "journal.db", "full")


def test_what_has_no_code_is_unusable(path: Path) -> None:
    """An error that SQLite itself did not make names the file all the same."""
    error = explained(sqlite3.ProgrammingError("Cannot operate on a closed database."), path)

    assert isinstance(error, JournalUnusable)
    assert str(path) in str(error)
