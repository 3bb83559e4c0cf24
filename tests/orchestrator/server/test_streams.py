"""An event stream, from its first byte to its last."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from orchestrator.events.facts import InterruptReceived, RunEnded
from orchestrator.server.feeds import QUIET, STALLED, Feed
from orchestrator.server.frames import KEEP_ALIVE, OPENING
from orchestrator.server.streams import EventStream
from tests.orchestrator.server.driving import Stream
from tests.orchestrator.server.test_feeds import END, feed_of, recorded

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def lent(feed: Feed, *, late: float = 0) -> AsyncGenerator[Feed, None]:
    """After a while, with a clock that goes as long as somebody has it."""

    async def beat() -> None:
        while True:
            await anyio.sleep(1)
            feed.beat()

    await anyio.sleep(late)
    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        yield feed
        group.cancel_scope.cancel()


@asynccontextmanager
async def streaming(response: EventStream) -> AsyncGenerator[Stream, None]:
    stream = Stream(response, {}, b"")
    async with anyio.create_task_group() as group:
        group.start_soon(stream.run)
        yield stream
        stream.leave()


async def test_headers_and_a_comment_come_at_once() -> None:
    """Before anything happens, and with what keeps proxies from holding back what follows."""
    async with streaming(EventStream(lent(Feed("r"), late=60))) as stream:
        await stream.until(lambda: bool(stream.answer.body), seconds=0.1)

    assert OPENING == stream.answer.body
    assert {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store, no-transform",
        "x-accel-buffering": "no",
    } == stream.answer.headers


async def test_silence_is_broken_by_comments() -> None:
    """So that nobody on the way takes the connection for dead."""
    async with streaming(EventStream(lent(Feed("r")))) as stream:
        await anyio.sleep(QUIET * 3.5)

    assert OPENING + 3 * KEEP_ALIVE == stream.answer.body


async def test_it_ends_with_the_feed() -> None:
    """What is over is told and closed, and nobody counts as gone."""
    gone = list[str]()
    stream = Stream(EventStream(lent(feed_of(END)), left=lambda: gone.append("x")), {}, b"")
    await stream.run()

    assert ["done"] == [event.channel for event in stream.events]
    assert [] == gone


async def test_a_client_that_leaves_is_noticed() -> None:
    """Though nothing is being sent."""
    gone = list[str]()
    async with streaming(EventStream(lent(Feed("r")), left=lambda: gone.append("x"))) as stream:
        await stream.until(lambda: bool(stream.answer.body))
        stream.leave()
        await anyio.sleep(1)
        assert ["x"] == gone

    assert OPENING == stream.answer.body


async def test_a_client_that_does_not_read_is_evicted() -> None:
    """After a time, and its leaving counts."""
    gone, feed = list[float](), feed_of(InterruptReceived(text="a"), over=False)
    async with streaming(EventStream(lent(feed), left=lambda: gone.append(anyio.current_time()))) as stream:
        await stream.until(lambda: bool(stream.events))
        stream.stalled = True
        began = anyio.current_time()
        feed.take(recorded([InterruptReceived(text="a"), InterruptReceived(text="b")]))
        await anyio.sleep(STALLED + 2)

    assert [pytest.approx(began + STALLED, abs=1)] == gone


async def test_a_slow_client_slows_nobody() -> None:
    """Others hear of each event when it comes, and the slow one holds no more than what it is being sent."""
    feed = Feed("r")
    async with streaming(EventStream(lent(feed))) as slow, streaming(EventStream(lent(feed))) as quick:
        await slow.until(lambda: bool(slow.answer.body))
        slow.stalled = True
        events = [InterruptReceived(text=str(number)) for number in range(2000)]
        feed.take(recorded([*events, RunEnded(outcome="achieved", summary=END.summary)]))
        feed.end()
        await quick.until(lambda: quick.answer.whole)

    assert [*map(str, range(2000))] == [event.data["content"] for event in quick.events[:-1]]
    assert OPENING == slow.answer.body
