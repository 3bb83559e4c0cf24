"""Running what waits, until it ends or a signal does it."""

import signal
from pathlib import Path

import anyio
import pytest

from orchestrator.cli.world import World, in_a_loop
from orchestrator.events.facts import RunInterrupted
from orchestrator.settings import JournalSettings, Settings
from registry.errors import ConfigurationError


def test_what_it_returns_comes_back() -> None:
    """The loop ends with the work."""

    async def work() -> str:
        return "done"

    assert in_a_loop(work) == "done"


def test_its_error_comes_out_as_itself() -> None:
    """Callers catch what happened, not how the work was arranged."""

    async def work() -> None:
        raise ConfigurationError("no")

    with pytest.raises(ConfigurationError, match="no"):
        in_a_loop(work)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_it_clean_up(number: signal.Signals) -> None:
    """The work is cancelled, its cleaning up is waited for, and there is no result."""
    cleaned = []

    async def work() -> str:
        try:
            signal.raise_signal(number)
            await anyio.sleep(30)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
                cleaned.append(True)
        return "done"

    assert in_a_loop(work) is None
    assert cleaned == [True]


@pytest.mark.anyio
@pytest.mark.real_clock
async def test_runs_are_kept_where_the_settings_say(tmp_path: Path) -> None:
    """In a file, whose folders are made; what one opening wrote the next one reads."""
    settings = Settings(journal=JournalSettings(path=tmp_path / "a" / "b" / "journal.sqlite3"))
    async with World().journal(settings) as journal:
        await (await journal.claim("r", holder="somebody", ttl=60)).append((RunInterrupted(why="w"), 1.0))

    async with World().journal(settings) as journal:
        assert ["r"] == [listed.run for listed in await journal.runs()]


@pytest.mark.anyio
async def test_runs_may_be_kept_in_memory() -> None:
    """Each block has its own then."""
    async with World().journal(Settings()) as journal:
        await journal.claim("r", holder="somebody", ttl=60)
    async with World().journal(Settings()) as journal:
        assert () == await journal.runs()


@pytest.mark.anyio
@pytest.mark.real_clock
@pytest.mark.parametrize("place", ["file", "file/journal.sqlite3"], ids=["no journal", "no folder"])
async def test_a_journal_that_can_t_be_opened_is_told(place: str, tmp_path: Path) -> None:
    """The sentence names the file, and what to set."""
    (tmp_path / "file").write_text("something else " * 100)
    path = tmp_path / place

    with pytest.raises(ConfigurationError) as refused:
        async with World().journal(Settings(journal=JournalSettings(path=path))):
            pass

    assert str(path) in str(refused.value)
    assert "set DAGWRIGHT_JOURNAL to another file, or to :memory:" in str(refused.value)


def test_a_second_one_does_not_wait() -> None:
    """Whoever presses Ctrl-C again is let go at once, whatever still cleans up."""

    async def work() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
            await anyio.sleep(30)
        finally:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        in_a_loop(work)
