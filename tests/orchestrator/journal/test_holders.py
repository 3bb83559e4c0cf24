"""Whether a holder is alive, and what the dead leave behind."""

import stat
from pathlib import Path

import pytest

from orchestrator.journal import holders
from orchestrator.journal.holders import Presence, one_at_a_time


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def files(database: Path) -> set[str]:
    return {file.name for file in database.parent.iterdir()}


def test_who_is_there_is_alive_to_all(database: Path) -> None:
    """To itself and to others, until it goes; a second look changes nothing."""
    one, other = Presence(database), Presence(database)
    token = one.token()

    assert [True] * 4 == [presence.is_alive(token) for presence in (one, other, other, one)]
    assert token == one.token()
    one.close()
    assert not other.is_alive(token)
    assert not one.is_alive(token)


def test_each_has_a_token_of_its_own(database: Path) -> None:
    """Two openings in one process are two."""
    one, other = Presence(database), Presence(database)

    assert one.token() != other.token()
    one.close()
    assert other.is_alive(other.token())
    other.close()


def test_who_claims_nothing_leaves_no_trace(database: Path) -> None:
    """There is no file before somebody asks for the token, nor after it is gone."""
    presence = Presence(database)
    assert not presence.is_alive("journal.db-holder-x")
    assert set() == files(database)
    token = presence.token()
    assert {token} == files(database)
    assert 0o600 == stat.S_IMODE((database.parent / token).stat().st_mode)
    presence.close()
    presence.close()
    assert set() == files(database)


def test_what_the_dead_left_is_cleared_away(database: Path) -> None:
    """A file that nobody locks is a dead process'. Those of the living and of other databases stay."""
    for name in ("journal.db-holder-dead", "journal.db", "other.db-holder-x"):
        (database.parent / name).touch()
    living, presence = Presence(database), Presence(database)
    tokens = {living.token(), presence.token()}

    assert {*tokens, "journal.db", "other.db-holder-x"} == files(database)
    living.close()
    presence.close()


def test_without_locks_everybody_counts_as_alive(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has no such locks, only a file that is gone says that its holder is."""
    monkeypatch.setattr(holders, "fcntl", None)
    presence = Presence(database)
    (database.parent / "journal.db-holder-x").touch()

    assert presence.is_alive("journal.db-holder-x")
    assert not presence.is_alive("journal.db-holder-y")
    with one_at_a_time(database.parent):
        assert presence.token() in files(database)
    presence.close()
