"""Everything a run has told, for watchers who read at their own pace."""

from collections.abc import AsyncIterator, Iterable

import anyio

from orchestrator.events.recorded import Recorded


class Telling:
    """Facts and Glimpses in the order they were told. Telling never waits; a watcher reads by its own cursor."""

    def __init__(self) -> None:
        self._told: list[Recorded] = []
        self._more: anyio.Event | None = None
        self._over = False

    def tell(self, recorded: Recorded) -> None:
        """Add one event and wake whoever waits for it."""
        self._told.append(recorded)
        if self._more is not None:
            self._wake()

    def end(self) -> None:
        """Nothing will be told any more: watchers end after what they have not read yet."""
        self._over = True
        self._wake()

    def facts(self) -> Iterable[Recorded]:
        """The Facts among what was told."""
        return (recorded for recorded in self._told if recorded.seq is not None)

    def watch(self) -> "Watcher":
        """All events from the first one on, then each new one as it comes."""
        return Watcher(self)

    async def at(self, cursor: int) -> Recorded | None:
        """The event at this place, waiting for it if need be; None when there will be none."""
        return self._told[cursor] if await self._reached(cursor) else None

    async def since(self, cursor: int) -> list[Recorded]:
        """Every event from this place on, waiting for one if need be; none when there will be none."""
        return self._told[cursor:] if await self._reached(cursor) else []

    async def _reached(self, cursor: int) -> bool:
        while cursor >= len(self._told):
            if self._over:
                return False
            self._more = self._more or anyio.Event()
            await self._more.wait()
        return True

    def _wake(self) -> None:
        if self._more is not None:
            self._more.set()
            self._more = None


class Watcher(AsyncIterator[Recorded]):
    """One reader's place. May be left at any time."""

    def __init__(self, telling: Telling) -> None:
        self._telling, self._cursor = telling, 0

    async def some(self) -> list[Recorded]:
        """All that was told since, at least one event; none at the end."""
        fresh = await self._telling.since(self._cursor)
        self._cursor += len(fresh)
        return fresh

    async def __anext__(self) -> Recorded:
        recorded = await self._telling.at(self._cursor)
        if recorded is None:
            raise StopAsyncIteration
        self._cursor += 1
        return recorded
