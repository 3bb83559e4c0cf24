"""Following a run on a screen."""

from collections.abc import AsyncIterator
from typing import TextIO

import anyio

from orchestrator.events.project import Projection, project
from orchestrator.events.recorded import Recorded
from orchestrator.unwrapping import sole_error


class Screen:
    """Something that shows a run. Override what you need; this one shows nothing.

    `answered` says that stdout has the whole answer already, so nobody must print it once more. `tick_seconds` is how often
    `tick` wants to be called, None for never.
    """

    answered: bool = False
    tick_seconds: float | None = None

    def open(self) -> None:
        """Before the first event."""

    def show(self, projection: Projection) -> None:
        """Take in one more event."""

    def tick(self) -> None:
        """Time has passed."""

    def close(self) -> None:
        """After the last event, or when nobody looks any more."""


class Quiet(Screen):
    """Shows nothing."""


class JsonLines(Screen):
    """One line of JSON for each event, at once: for programs. The answer is among them."""

    answered = True

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, projection: Projection) -> None:
        self._out.write(projection.line.decode() + "\n")
        self._out.flush()


async def watch(events: AsyncIterator[Recorded], screen: Screen) -> None:
    """Shows every event until there are no more. Nothing of it goes on afterwards, however it ends."""
    screen.open()
    try:
        with sole_error():
            async with anyio.create_task_group() as group:
                if screen.tick_seconds is not None:
                    group.start_soon(_ticking, screen, screen.tick_seconds)
                async for recorded in events:
                    screen.show(project(recorded))
                group.cancel_scope.cancel()
    finally:
        screen.close()


async def _ticking(screen: Screen, seconds: float) -> None:
    while True:
        await anyio.sleep(seconds)
        screen.tick()
