"""Watchers read at their own pace, each from its own place."""

import anyio
import pytest

from orchestrator.events.facts import InterruptReceived, PhaseBegan
from orchestrator.events.glimpses import AnswerBegan
from orchestrator.events.recorded import Recorded
from orchestrator.watching import Telling, Watcher

pytestmark = pytest.mark.anyio


def fact(seq: int) -> Recorded:
    return Recorded(seq=seq, time=0.0, run="r", event=InterruptReceived(text=str(seq)))


async def seqs(watcher: Watcher) -> list[int | None]:
    return [recorded.seq async for recorded in watcher]


async def test_everybody_hears_everything_from_the_first_on() -> None:
    """A watcher that comes late, or after the end, misses nothing."""
    telling, heard = Telling(), []
    early = telling.watch()
    telling.tell(fact(1))
    telling.tell(fact(2))
    heard.append(await anext(early))
    late = telling.watch()
    telling.tell(fact(3))
    telling.end()

    assert [fact(1)] == heard
    assert [2, 3] == await seqs(early)
    assert [1, 2, 3] == await seqs(late)
    assert [1, 2, 3] == await seqs(telling.watch())
    assert [] == await seqs(early)


async def test_a_watcher_waits_for_more() -> None:
    """Who has read everything waits, and all who wait are woken by the next event."""
    telling = Telling()
    heard: list[list[int | None]] = []

    async def watch() -> None:
        heard.append(await seqs(telling.watch()))

    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(watch)
        for seq in (1, 2, 3):
            await anyio.sleep(1)
            telling.tell(fact(seq))
        await anyio.sleep(1)
        assert [] == heard
        telling.end()

    assert [[1, 2, 3], [1, 2, 3]] == heard


async def test_a_slow_watcher_holds_up_nobody() -> None:
    """Telling never waits, so a watcher may take an hour over each event while another has them at once."""
    telling = Telling()
    slow, fast = telling.watch(), telling.watch()
    done: dict[str, float] = {}

    async def read(name: str, watcher: Watcher, pause: float) -> None:
        began = anyio.current_time()
        async for _ in watcher:
            await anyio.sleep(pause)
        done[name] = anyio.current_time() - began

    async with anyio.create_task_group() as group:
        group.start_soon(read, "slow", slow, 3600)
        group.start_soon(read, "fast", fast, 0)
        for seq in (1, 2, 3):
            await anyio.sleep(1)
            telling.tell(fact(seq))
        telling.end()

    assert done["fast"] < 4
    assert done["slow"] >= 3 * 3600


async def test_a_watcher_may_be_left_while_it_waits() -> None:
    """Cancelling a read loses no event: the next read gives it."""
    telling = Telling()
    watcher = telling.watch()
    with anyio.move_on_after(5):
        await anext(watcher)
    telling.tell(fact(1))

    assert fact(1) == await anext(watcher)


def test_only_facts_are_facts() -> None:
    """A Glimpse is told and is no Fact."""
    telling = Telling()
    telling.tell(Recorded(seq=None, time=0.0, run="r", event=AnswerBegan()))
    telling.tell(Recorded(seq=1, time=0.0, run="r", event=PhaseBegan(phase="planning")))

    assert [1] == [recorded.seq for recorded in telling.facts()]


async def test_a_watcher_may_take_what_there_is_at_once() -> None:
    """All that was told since, and nothing at the end."""
    telling = Telling()
    watcher = telling.watch()
    telling.tell(fact(1))
    telling.tell(fact(2))
    first = await watcher.some()
    telling.tell(fact(3))
    second = await watcher.some()
    telling.end()

    assert ([fact(1), fact(2)], [fact(3)], []) == (first, second, await watcher.some())
