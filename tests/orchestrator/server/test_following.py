"""How what happens in a run comes to those who watch it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.errors import JournalDamaged
from orchestrator.events.recorded import Recorded
from orchestrator.run import Run
from orchestrator.server import following
from orchestrator.server.feeds import Feed
from orchestrator.server.following import Following
from tests.contracts.journal import line
from tests.orchestrator.server.driving import Held, ordinary

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def followed(journal: MemoryJournal, *here: Run) -> AsyncGenerator[Following, None]:
    runs = {run.id: run for run in here}

    def find(run: str) -> Run | None:
        return runs[run] if run in runs and runs[run].under_way else None

    async with anyio.create_task_group() as group:
        yield Following(journal, find, group)
        group.cancel_scope.cancel()


async def facts(feed: Feed, number: int) -> None:
    with anyio.fail_after(60):
        while feed.facts < number:
            await feed.more.wait()


async def test_a_feed_begins_with_all_that_was() -> None:
    """Whoever gets one can tell which messages there are."""
    journal = MemoryJournal()
    writer = await journal.claim("r", holder="another", ttl=60)
    await writer.append(line("a"), line("b"))
    async with followed(journal) as following_, following_.feed("r") as feed:
        assert 2 == feed.facts
        await writer.append(line("c"))
        await facts(feed, 3)


async def test_all_watchers_of_a_run_share_a_feed() -> None:
    """It is there as long as one of them is, and then no more."""
    journal = MemoryJournal()
    writer = await journal.claim("r", holder="another", ttl=60)
    await writer.append(line("a"))
    async with followed(journal) as following_:
        async with following_.feed("r") as one:
            async with following_.feed("r") as other:
                assert one is other
            await writer.append(line("b"))
            await facts(one, 2)
        async with following_.feed("r") as fresh:
            assert fresh is not one
        await writer.append(line("c"))
        await anyio.sleep(5)
        assert (2, 2) == (one.facts, fresh.facts)


async def test_glimpses_come_from_a_run_that_is_worked_on_here() -> None:
    """And its end is the feed's."""
    journal = MemoryJournal()
    model = Held(ordinary(), "synthesis")
    async with Orchestrator(model, journal=journal).open("goal") as run, followed(journal, run) as following_:
        await model.until_asked()
        async with following_.feed(run.id) as feed:
            begun = feed.length
            model.open.set()
            while not feed.over:
                await feed.more.wait()

            assert feed.facts < feed.length
            assert begun < feed.length
            assert feed.ended
            assert feed.facts == len(await journal.read(run.id))


async def test_words_that_were_not_heard_yet_are_told() -> None:
    """Who writes to a run from outside is seen at once by those who begin to watch, so no id of theirs is ever ahead."""
    journal = MemoryJournal()
    model = Held(ordinary())
    async with Orchestrator(model, journal=journal).open("goal") as run, followed(journal, run) as following_:
        await model.until_asked(2)
        word = await journal.claim(run.id, holder="another", ttl=60, scope="word")
        await word.append(line("hello"))
        async with following_.feed(run.id) as feed:
            assert len(await journal.read(run.id)) == feed.facts


async def test_watchers_are_not_woken_for_every_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes in one pulse is told together."""
    monkeypatch.setattr(following, "PULSE", 1.0)
    journal, woken = MemoryJournal(), 0
    model = Held(ordinary(answer="word " * 500), "synthesis")
    async with Orchestrator(model, journal=journal).open("goal") as run, followed(journal, run) as following_:
        await model.until_asked()
        async with following_.feed(run.id) as feed:
            model.open.set()
            while not feed.over:
                await feed.more.wait()
                woken += 1

    assert 500 < feed.length
    assert 10 > woken


async def test_the_end_tells_the_rest() -> None:
    """What was written while nobody looked, and that nothing follows."""
    journal = MemoryJournal()
    writer = await journal.claim("r", holder="another", ttl=60)
    await writer.append(line("a"))
    async with followed(journal) as following_, following_.feed("r") as feed:
        await writer.append(line("b"))
        await following_.end()

        assert (2, True) == (feed.facts, feed.over)


class Torn(MemoryJournal):
    """One that breaks while it is read."""

    async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
        raise JournalDamaged(run, "torn")


async def test_a_damaged_run_ends_its_feed() -> None:
    """Nobody waits for what can't be told, and no other run's watchers are disturbed."""
    async with followed(Torn()) as following_, following_.feed("r") as feed:
        assert (0, True) == (feed.facts, feed.over)
