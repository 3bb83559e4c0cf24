"""Runs of the journal, found by the beginning of their ids."""

import signal

import anyio
import pytest

from orchestrator.cli.options import Options
from orchestrator.cli.runs.recalling import glanced_at, looked_at, named, recall, with_journal
from orchestrator.errors import JournalDamaged, UnknownRun
from orchestrator.events.facts import Fact, RunEnded
from orchestrator.events.recorded import Recorded
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journal.protocol import Journal, Listed
from registry.errors import ConfigurationError
from tests.orchestrator.cli.terminal import ScriptedWorld, greets
from tests.orchestrator.cli.view.script import PLANNING, SUMMARY

pytestmark = pytest.mark.anyio

RUNS = tuple(Listed(run=run) for run in ("abc", "abcd", "abde", "b"))


class Torn(MemoryJournal):
    """What is in it can't be read."""

    async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
        raise JournalDamaged(run, "torn")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("abcd", "abcd", id="the whole id"),
        pytest.param("abd", "abde", id="its beginning"),
        pytest.param("abc", "abc", id="an id that others begin with"),
        pytest.param("b", "b", id="one letter"),
    ],
)
def test_a_run_goes_by_the_beginning_of_its_id(name: str, expected: str) -> None:
    """Where there is but one such."""
    assert expected == named(name, RUNS).run


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        pytest.param("ab", ConfigurationError, "'ab' is the beginning of several runs: abc, abcd, abde", id="several"),
        pytest.param("x", UnknownRun, "no run 'x' in the journal; there are: abc, abcd, abde, b", id="unknown"),
        pytest.param("", UnknownRun, "no run ''", id="empty"),
    ],
)
def test_what_names_no_one_run_is_refused(name: str, error: type[Exception], told: str) -> None:
    """With the runs that there are."""
    with pytest.raises(error, match=told):
        named(name, RUNS)


async def test_a_run_without_a_fact_is_none() -> None:
    """Somebody claimed it and died before anything was written."""
    journal = MemoryJournal()
    await journal.claim("r", holder="somebody", ttl=60)

    with pytest.raises(UnknownRun):
        await recall(journal, "r")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param((), "interrupted", id="nothing"),
        pytest.param(PLANNING, "interrupted", id="under way"),
        pytest.param((*PLANNING, RunEnded(outcome="missing", summary=SUMMARY)), "missing", id="ended"),
    ],
)
async def test_the_last_fact_tells_whether_it_has_ended(events: tuple[Fact, ...], expected: str) -> None:
    """No other Fact is read."""

    class Frugal(MemoryJournal):
        async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
            facts = await super().read(run, after=after)
            assert len(facts) <= 1
            return facts

    journal = Frugal()
    writer = await journal.claim("r", holder="somebody", ttl=60)
    await writer.append(*((fact, 1.0) for fact in events))
    await writer.release()

    assert expected == await glanced_at(journal, (await journal.runs())[0])


async def test_what_can_t_be_read_is_damaged() -> None:
    """Whatever its end may say."""
    assert "damaged" == await glanced_at(Torn(), Listed(run="r", facts=3))


async def test_a_damaged_run_hides_no_other() -> None:
    """In a list it stands with its damage."""
    past = await looked_at(Torn(), Listed(run="r"))

    assert ("damaged", ()) == (past.standing, past.facts)
    assert "torn" in past.listed.damage


def test_a_signal_ends_what_is_done_with_the_journal() -> None:
    """As it ends every command: the exit code is that of an interruption."""

    async def work(_: Journal) -> bool:
        signal.raise_signal(signal.SIGINT)
        await anyio.sleep(30)
        return True

    with pytest.raises(KeyboardInterrupt):
        with_journal(ScriptedWorld(greets()), Options(), work)
