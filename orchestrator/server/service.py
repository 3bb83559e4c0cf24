"""The service: runs that go on whoever watches, for as long as the process lives, and after it in the next one."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Self

import anyio
from msgspec.structs import replace

from orchestrator.accepted import Accepted
from orchestrator.answering import cancel
from orchestrator.errors import RunError
from orchestrator.events.facts import RunStarted, RunSuspended
from orchestrator.hooks import Hook
from orchestrator.journal.protocol import Journal, Outline
from orchestrator.limits import Limits
from orchestrator.logs import note
from orchestrator.orchestrator import Orchestrator
from orchestrator.ports import Ports
from orchestrator.server.asking import Means, Setup
from orchestrator.server.following import Following
from orchestrator.server.underway import Opening, Underway
from orchestrator.unwrapping import sole_error
from registry.models.registry import ModelRegistry
from registry.tools.registry import ToolRegistry

WIDTH = 32
"""Runs that are worked on at once."""

GRACE = 10.0
"""Seconds that runs have to come to a durable point when the service ends."""

PARTING = 2.0
"""Seconds in which those who watch are told the rest, after that."""

SWEEP = 5.0
"""Seconds between two looks for runs that nobody works on and that can go on."""

EVERY_RUN = 1_000_000


class Service:
    """Works on runs within `async with service`, and at its start takes up those that an earlier one left.

    `models` and `tools` are all that any run may use, and `limits` the most that one may be given. Several services may share one
    journal: each run is worked on by one of them, and taken over when that one is gone.
    """

    def __init__(
        self,
        models: ModelRegistry,
        tools: ToolRegistry,
        *,
        journal: Journal,
        limits: Limits | None = None,
        hooks: Iterable[Hook] = (),
        ports: Ports | None = None,
        width: int = WIDTH,
    ) -> None:
        self.means = Means(models=models, tools=tools, limits=limits or Limits())
        self.journal, self.ports = journal, ports or Ports()
        self.ready = False
        self._hooks, self._width = tuple(hooks), width
        self._life: AbstractAsyncContextManager[None] | None = None

    async def __aenter__(self) -> Self:
        self._life = self._live()
        await self._life.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._life is not None
        return await self._life.__aexit__(kind, error, trace)

    @property
    def draining(self) -> bool:
        """Whether nothing is begun any more."""
        return self.underway.draining

    async def drain(self, grace: float = GRACE) -> None:
        """Begin nothing more, interrupt what is under way, and end every stream when that is told. An attached run is cancelled.

        What has not come to a durable point within `grace` seconds is not waited for, and goes on from its last Fact.
        """
        self.ready = False
        with anyio.move_on_after(grace, shield=True):
            await self.underway.drain()
            for run in self.underway.attached:  # which wait for a person, and lose their client with the stream
                self.underway.leave(run)
                await self._cancel(run)
        with anyio.move_on_after(PARTING, shield=True):
            await self.following.end()

    def begin(self, run: str, setup: Setup) -> None:
        """Work on a run of the journal as soon as there is a place."""
        self.underway.begin(run, self._again(run, setup))

    async def attach(self, run: str, accepted: Accepted, setup: Setup) -> None:
        """Begin a run for a client who is to `leave` it. Raises what kept it from beginning."""
        named = self._orchestrator(setup.limits, replace(self.ports, new_id=lambda: run))
        asked = accepted.plan or accepted.goal
        opening = partial(named.open, asked, inputs=accepted.inputs, setup=accepted.setup)
        await self.underway.attach(run, opening, self._again(run, setup))

    def leave(self, run: str) -> None:
        """The client that a run was attached to is gone: nothing more is spent on it."""
        if not self.underway.leave(run) and not self.draining:
            self._group.start_soon(self._cancel, run)

    @asynccontextmanager
    async def _live(self) -> AsyncGenerator[None, None]:
        with sole_error():
            async with anyio.create_task_group() as self._group:
                self.underway = Underway(self._group, width=self._width)
                self.following = Following(self.journal, self.underway.run, self._group)
                self._group.start_soon(self._sweep)
                try:
                    yield
                finally:
                    await self.drain()
                self._group.cancel_scope.cancel()

    async def _sweep(self) -> None:
        while not self.draining:
            try:
                left = await self.journal.outlines("", most=EVERY_RUN, unended=True)
            except RunError as error:
                note("sweep_failed", error=str(error))
            else:
                for outline in reversed(left):
                    await self._take_up(outline)
                self.ready = not self.draining
            await anyio.sleep(SWEEP)

    async def _take_up(self, outline: Outline) -> None:
        """Go on with a run that a service began, if nobody works on it and it has anything to go on with."""
        setup = setup_of(outline)
        if setup is None or outline.holder or outline.damage or self.underway.waits(outline.run):
            return
        suspended = outline.work is not None and isinstance(outline.work.event, RunSuspended)
        if suspended and not outline.spoken_to:
            return
        if not setup.attached or outline.run in self.underway.attached:
            self.begin(outline.run, setup)
        elif not suspended:
            await self._cancel(outline.run)

    async def _cancel(self, run: str) -> None:
        try:
            await cancel(self.journal, run, why="its client left", ports=self.ports)
        except RunError as error:
            note("cancel_failed", run=run, error=str(error))

    def _again(self, run: str, setup: Setup) -> Opening:
        return partial(self._orchestrator(self.means.least(setup.limits), self.ports).open_again, run)

    def _orchestrator(self, limits: Limits, ports: Ports) -> Orchestrator:
        means = self.means
        return Orchestrator(means.models, tools=means.tools, hooks=self._hooks, limits=limits, journal=self.journal, ports=ports)


def setup_of(outline: Outline) -> Setup | None:
    """How the run was begun; None when another program began it, or nobody yet."""
    first = outline.first and outline.first.event
    return Setup.read(first.setup) if isinstance(first, RunStarted) else None
