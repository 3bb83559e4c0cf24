"""The runs that this process works on. They depend on no request and on no watcher, unless they were begun attached to one."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from orchestrator.errors import RunError, RunHeld
from orchestrator.logs import fault, note
from orchestrator.run import Run
from registry.errors import DagwrightError

Opening = Callable[[], AbstractAsyncContextManager[Run]]
"""Begins a run, or goes on with one."""


@dataclass(slots=True, eq=False)
class _Work:
    """On one run. `again` goes on with it. `run` is None until it has begun, `error` what kept it from that. To end the `scope`
    interrupts the run. One that is `called_off` ends by itself, cancelled."""

    again: Opening
    run: Run | None = None
    error: DagwrightError | None = None
    called_off: bool = False
    suspended: bool = False
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    began: anyio.Event = field(default_factory=anyio.Event)


class Underway:
    """At most `width` runs at once. Those that come when there are so many wait for their turn."""

    def __init__(self, group: TaskGroup, *, width: int) -> None:
        self._group = group
        self._places = anyio.CapacityLimiter(width)
        self._here: dict[str, _Work] = {}
        self._attached: set[str] = set()
        self._given_up: set[str] = set()
        self._idle = anyio.Event()
        self.draining = False

    def run(self, run_id: str) -> Run | None:
        """The run, if it is worked on here and has not ended."""
        work = self._here.get(run_id)
        return work.run if work is not None and work.run is not None and work.run.under_way else None

    def waits(self, run_id: str) -> bool:
        """Whether it is to be worked on here when its turn comes."""
        return run_id in self._here and self._here[run_id].run is None

    @property
    def full(self) -> bool:
        """Whether a run that came now would have to wait."""
        return self._places.available_tokens < 1

    @property
    def attached(self) -> tuple[str, ...]:
        """The runs that were begun attached to clients who are still there, and that have not ended."""
        return tuple(self._attached)

    def begin(self, run_id: str, again: Opening) -> None:
        """Go on with the run as soon as there is a place. One that came to grief here by a fault of ours is not tried again."""
        if not (self.draining or run_id in self._here or run_id in self._given_up):
            self._start(run_id, again, _Work(again))

    async def attach(self, run_id: str, opening: Opening, again: Opening) -> None:
        """Begin the run for somebody who will `leave` it. Returns when it is written down that it began, or raises why not."""
        work = _Work(again)
        self._attached.add(run_id)
        self._start(run_id, opening, work)
        await work.began.wait()
        if work.run is None:
            raise work.error or RunError(f"run {run_id!r} did not begin")

    def leave(self, run_id: str) -> bool:
        """Whoever the run was attached to is gone: it is cancelled. Returns False where it is not worked on here."""
        self._attached.discard(run_id)
        work = self._here.get(run_id)
        if work is not None:
            self._call_off(work, "its client left")
        return work is not None

    async def drain(self) -> None:
        """Begin nothing more, and interrupt all that is under way. Returns when that is written down."""
        self.draining = True
        for run_id, work in self._here.items():
            if run_id in self._attached:
                self._call_off(work, "the server stopped")
            elif not work.called_off:
                work.scope.cancel()
        while self._here:
            self._idle = anyio.Event()
            await self._idle.wait()

    def _call_off(self, work: _Work, why: str) -> None:
        """Cancel the run. It is not interrupted too: it would be that before anybody has written down that it is cancelled."""
        if work.run is not None and work.run.under_way and not work.called_off:
            work.called_off = True
            self._group.start_soon(self._cancel, work.run, why, work.scope)
        else:
            work.scope.cancel()

    async def _cancel(self, run: Run, why: str, scope: anyio.CancelScope) -> None:
        try:
            await run.cancel(why)
        except RunError as error:
            note("cancel_failed", run=run.id, error=str(error))
            scope.cancel()

    def _start(self, run_id: str, opening: Opening, work: _Work) -> None:
        self._here[run_id] = work
        self._group.start_soon(self._perform, run_id, opening, work)

    async def _perform(self, run_id: str, opening: Opening, work: _Work) -> None:
        try:
            with work.scope:
                async with self._places:
                    while await self._lived(opening, work):
                        opening = work.again
        except RunHeld as error:  # another process works on it
            work.error = error
        except DagwrightError as error:  # how it ended is in its journal
            work.error = error
            note("run_ended", run=run_id, error=str(error))
        except Exception as bug:  # noqa: BLE001 (a fault in one run, or in what it calls, is not to end the others)
            self._given_up.add(run_id)
            fault(f"run {run_id}", bug)
        finally:
            del self._here[run_id]
            if not work.suspended:
                self._attached.discard(run_id)
            work.began.set()
            self._idle.set()

    async def _lived(self, opening: Opening, work: _Work) -> bool:
        """One life of the run. Whether it can go on at once: it was suspended, and an answer came while that was written down."""
        async with opening() as run:
            await anext(run.events)
            work.run, work.suspended = run, False
            work.began.set()
            answer = await run.answer()
        work.suspended = answer.outcome == "suspended"
        return work.suspended and len(run.pending) < len(answer.waiting)
