"""How long steps took, as journals remember it. What they promise of it is in tests/contracts/journal.py."""

import sqlite3
from pathlib import Path

import pytest

from orchestrator.events.facts import PhaseBegan
from orchestrator.journal.durations import durations
from tests.contracts.journal import TTL, took
from tests.orchestrator.journal.opening import in_file

pytestmark = pytest.mark.anyio


def test_a_step_counts_for_itself_and_for_its_likes() -> None:
    """Each end of a step tells two things, and other Facts nothing."""
    assert [("step/1", 2.5), ("tool/t", 2.5)] == list(durations([PhaseBegan(phase="executing"), took(2.5), took(1.0, like="")]))


async def test_a_file_of_an_earlier_version_learns_it(tmp_path: Path) -> None:
    """Files that know nothing of durations are taken on as they are, and know them from then on."""
    path = tmp_path / "journal.db"
    async with in_file(path) as journal:
        await (await journal.claim("old", holder="me", ttl=TTL)).append((took(1.0), 1.0))
    with sqlite3.connect(path) as older:
        older.execute("DROP TABLE durations")
    older.close()

    async with in_file(path) as journal:
        assert {} == await journal.durations(["tool/t"])
        await (await journal.claim("new", holder="me", ttl=TTL)).append((took(2.0), 1.0))
        assert {"tool/t": (2.0,)} == await journal.durations(["tool/t"])
        assert ["old", "new"] == [listed.run for listed in await journal.runs()]


async def test_they_are_found_without_a_look_at_others(tmp_path: Path) -> None:
    """SQLite finds the latest of a key by an index, however many there are."""
    path = tmp_path / "journal.db"
    async with in_file(path):
        pass
    with sqlite3.connect(path) as reader:
        query = "EXPLAIN QUERY PLAN SELECT seconds FROM durations WHERE key = ? ORDER BY id DESC LIMIT ?"
        plan = [row[3] for row in reader.execute(query, ("k", 20))]
    reader.close()

    assert ["SEARCH durations USING INDEX alike (key=?)"] == plan
