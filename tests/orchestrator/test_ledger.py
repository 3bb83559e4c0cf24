"""The one place where Facts are written, folded and announced; and the keys of calls."""

import pytest

from orchestrator.errors import LeaseLost, UnknownRun
from orchestrator.events.facts import Fact, PhaseBegan, RunStarted
from orchestrator.events.glimpses import AnswerBegan
from orchestrator.events.recorded import Recorded
from orchestrator.journal.memory import MemoryJournal
from orchestrator.ledger import Ledger, open_ledger, private_ledger, reopen_ledger
from registry.calls import Call
from tests.scenario import ports

pytestmark = pytest.mark.anyio

STARTED = RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02")
PLANNING = PhaseBegan(phase="planning")


async def test_write_first_announce_second() -> None:
    """When a Fact is written the state does not know it yet and nobody has been told."""
    seen = []

    class Watchful:
        epoch = 1

        async def append(self, fact: Fact, time: float) -> Recorded:
            seen.append((ledger.state.started, list(ledger.facts)))
            return Recorded(seq=1, time=time, run="r", event=fact)

    ledger = Ledger("r", Watchful(), now=ports().now)
    await ledger.record(STARTED)

    assert [(None, [])] == seen
    assert STARTED == ledger.state.started
    assert [Recorded(seq=1, time=ports().now().timestamp(), run="r", event=STARTED)] == list(ledger.facts)


async def test_what_was_not_written_never_happened() -> None:
    """A Fact that the journal refuses is neither folded nor told."""
    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    await journal.claim("r", holder="another", ttl=60)

    with pytest.raises(LeaseLost):
        await ledger.record(STARTED)

    assert ledger.state.started is None
    assert [] == list(ledger.facts)
    assert () == await journal.read("r")


async def test_glimpses_are_told_and_not_written() -> None:
    """A Glimpse reaches watchers, without a `seq`, and nothing else."""
    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    watcher = ledger.telling.watch()
    ledger.glimpse(AnswerBegan())

    told = await anext(watcher)

    assert (None, AnswerBegan()) == (told.seq, told.event)
    assert () == await journal.read("r")


async def test_a_reopened_ledger_knows_the_past() -> None:
    """Facts are folded and told again, and new ones go on with the next `seq`."""
    journal = MemoryJournal()
    first = await open_ledger(journal, "r", ports())
    await first.record(STARTED)

    again = await reopen_ledger(journal, "r", ports())
    await again.record(PLANNING)

    assert (STARTED, [PLANNING]) == (again.state.started, again.state.phases)
    assert [(1, STARTED), (2, PLANNING)] == [(recorded.seq, recorded.event) for recorded in again.facts]
    with pytest.raises(LeaseLost):
        await first.record(PLANNING)


async def test_a_run_that_nobody_knows_can_not_be_reopened() -> None:
    """And asking for it does not make it known."""
    journal = MemoryJournal()

    with pytest.raises(UnknownRun, match="'nope'"):
        await reopen_ledger(journal, "nope", ports())
    assert () == await journal.runs()


def call(scope: str = "step/x", attempt: int = 1) -> Call:
    return Call(run="r", scope=scope, attempt=attempt)


async def test_keys_count_equal_calls_within_a_scope() -> None:
    """Scope, kind and digest, and a number for equal ones in the order they were made."""
    ledger = await private_ledger()

    keys = [ledger.key(call(), "step", digest) for digest in ("d", "e", "d")]

    assert ["step/x/step/d/1", "step/x/step/e/1", "step/x/step/d/2"] == keys


async def test_a_key_does_not_depend_on_other_calls() -> None:
    """Whatever else was asked before, in this scope or another, a call's key is the same."""
    busy, idle = await private_ledger(), await private_ledger()
    for scope in ("step/x", "step/y", "plan/1"):
        busy.key(call(scope), "step", "other")
    busy.key(call("step/y"), "step", "d")
    busy.key(call(), "tool", "d")

    assert idle.key(call(), "step", "d") == busy.key(call(), "step", "d")


async def test_an_attempt_has_keys_of_its_own_but_effects_do_not() -> None:
    """A second try asks its model anew, while its first effect is the first effect of the first try."""
    ledger = await private_ledger()

    asked = [ledger.key(call(attempt=attempt), "step", "d") for attempt in (1, 2, 2)]
    effects = [ledger.key(call(attempt=attempt), "tool", "d", across_attempts=True) for attempt in (1, 2, 2)]

    assert ["step/x/step/d/1", "step/x/step/d/1@2", "step/x/step/d/2@2"] == asked
    assert ["step/x/tool/d/1", "step/x/tool/d/1", "step/x/tool/d/2"] == effects
