"""Pours what happens in runs into the feeds of those that are watched, whether a run goes on here, elsewhere or not at all."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from orchestrator.errors import RunError
from orchestrator.journal.protocol import Journal
from orchestrator.logs import note
from orchestrator.run import Run
from orchestrator.server.feeds import Feed

PULSE = 0.02
"""Seconds that events are gathered before watchers are woken: however fast they come, nobody is woken more often."""

BEAT = 1.0
"""Seconds of a feed's clock."""

GLANCE = 0.5
"""Seconds between two looks at a run that is not worked on here."""


@dataclass(slots=True)
class _Followed:
    feed: Feed
    loaded: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    watchers: int = 0


class Following:
    """One feed for each run that somebody watches, however many they are."""

    def __init__(self, journal: Journal, here: Callable[[str], Run | None], group: TaskGroup) -> None:
        """`here` finds a run that is worked on in this process."""
        self._journal, self._here, self._group = journal, here, group
        self._followed: dict[str, _Followed] = {}

    @asynccontextmanager
    async def feed(self, run: str) -> AsyncGenerator[Feed, None]:
        """The run's feed, with all that happened so far, for as long as the block lasts. The run must be one of the journal."""
        followed = self._followed.get(run)
        if followed is None:
            followed = self._followed[run] = _Followed(Feed(run))
            self._group.start_soon(self._follow, followed)
        followed.watchers += 1
        try:
            await followed.loaded.wait()
            yield followed.feed
        finally:
            followed.watchers -= 1
            if not followed.watchers:
                followed.scope.cancel()
                if self._followed.get(run) is followed:
                    del self._followed[run]

    async def end(self) -> None:
        """Tell everybody the rest, and that nothing will follow."""
        while self._followed:
            _, followed = self._followed.popitem()
            followed.scope.cancel()
            await self._catch_up(followed.feed)
            self._finish(followed)

    async def _follow(self, followed: _Followed) -> None:
        with followed.scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_beat, followed.feed)
                while not followed.feed.over:
                    await self._pour(followed)
        followed.loaded.set()

    async def _pour(self, followed: _Followed) -> None:
        """All that there is: of a run that is worked on here, until that is over."""
        feed, run = followed.feed, self._here(followed.feed.run)
        events = run.events if run is not None else None
        while events is not None and (fresh := await events.some()):
            if followed.loaded.is_set():
                await anyio.sleep(PULSE)
                with anyio.move_on_after(0):  # what came meanwhile
                    fresh += await events.some()
            feed.take(fresh)
            if not followed.loaded.is_set():  # what others wrote to the run may not have been heard yet where it is worked on
                await self._catch_up(feed)
                followed.loaded.set()
        await self._catch_up(feed)
        if feed.ended and self._here(feed.run) in (None, run):
            self._finish(followed)
        followed.loaded.set()
        for _ in range(round(GLANCE / PULSE)):  # a run that begins here is to be heard from its first Glimpse on
            await anyio.sleep(PULSE)
            if self._here(feed.run) is not None:
                break

    async def _catch_up(self, feed: Feed) -> None:
        try:
            feed.take(await self._journal.read(feed.run, after=feed.facts))
        except RunError as error:  # nobody will be told more of it
            note("feed_broke_off", run=feed.run, error=str(error))
            feed.end()

    def _finish(self, followed: _Followed) -> None:
        followed.feed.end()
        followed.loaded.set()


async def _beat(feed: Feed) -> None:
    while True:
        await anyio.sleep(BEAT)
        feed.beat()
