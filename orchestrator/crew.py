"""Workers that take what is ready and do one step after another: as many of them as there is to do at once."""

from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from orchestrator.frontier import Frontier
from orchestrator.unwrapping import sole_error
from planner import AnyStep

BREATH = 8
"""After so many turns others are heard, if none of the steps has waited."""


class Crew:
    """Works off a frontier. `turn` does all that is to be done about one step, and settles it or pauses it."""

    def __init__(self, frontier: Frontier, turn: Callable[[AnyStep], Awaitable[None]]) -> None:
        self._frontier, self._turn = frontier, turn
        self._group: TaskGroup | None = None
        self._working, self._resting, self._turns, self._coming = 0, 0, 0, False

    @property
    def at_work(self) -> bool:
        """Whether steps are being done: otherwise it is too late to call for one more worker."""
        return self._working > 0

    async def work(self) -> None:
        """Do what can be done now, and what becomes ready by that. What a turn raises ends it for all."""
        with sole_error():
            async with anyio.create_task_group() as self._group:
                self.call()

    def call(self) -> None:
        """One more worker. It comes when those who work wait for something: where none of them does, one is enough."""
        assert self._group is not None
        if not self._coming:
            self._coming = True
            self._group.start_soon(self._worker)

    async def _worker(self) -> None:
        while self._resting:  # whoever only lets others be heard goes on by himself
            await anyio.lowlevel.checkpoint()
        self._working, self._coming = self._working + 1, False
        while (step := self._frontier.take()) is not None:
            if self._frontier.ready:
                self.call()
            await self._turn(step)
            self._turns += 1
            if self._turns % BREATH == 0 or not self._frontier.ready:  # what they have to say may make something ready
                await self._rest()
        self._working -= 1

    async def _rest(self) -> None:
        self._resting += 1
        await anyio.lowlevel.checkpoint()
        self._resting -= 1
