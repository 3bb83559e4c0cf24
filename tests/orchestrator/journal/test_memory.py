"""The journal that lives as long as its process; the contract of all journals is tested beside it."""

import anyio
import pytest

from orchestrator.errors import RunHeld
from orchestrator.events.facts import PhaseBegan
from orchestrator.journal.memory import MemoryJournal

pytestmark = pytest.mark.anyio


async def test_a_claimed_run_is_known_before_its_first_fact() -> None:
    """It reads as empty, and every claim has the next epoch."""
    journal = MemoryJournal()
    epochs = [(await journal.claim("r", holder="me", ttl=60)).epoch for _ in range(3)]

    assert [1, 2, 3] == epochs
    assert () == await journal.read("r")
    assert ["r"] == [listed.run for listed in await journal.runs()]


async def test_two_journals_share_nothing() -> None:
    """Each object is a journal of its own."""
    one, other = MemoryJournal(), MemoryJournal()
    await one.claim("r", holder="me", ttl=60)

    assert () == await other.runs()


async def test_a_fact_is_a_sign_of_life() -> None:
    """Whoever writes Facts one by one holds the run on, by the time that they give."""
    journal = MemoryJournal()
    writer = await journal.claim("r", holder="me", ttl=60)
    for now in (50.0, 100.0):
        await anyio.sleep(50)
        writer.write(PhaseBegan(phase="planning"), now)
    await anyio.sleep(50)

    with pytest.raises(RunHeld):
        await journal.claim("r", holder="other", ttl=60)
    assert [1, 2] == [recorded.seq for recorded in await journal.read("r")]
