"""All that one tenant can do with runs. There is no other way from a request to a run."""

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, suppress
from typing import Literal

import anyio
from msgspec import Struct

from orchestrator.accepted import Accepted, begin
from orchestrator.answering import cancel, decide, speak
from orchestrator.errors import JournalDamaged, RunHeld, UnknownRun
from orchestrator.events.facts import InterruptReceived, RunEnded, RunSuspended, StopRequested
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import Outline
from orchestrator.ledger import open_ledger
from orchestrator.limits import Limits
from orchestrator.server.asking import Setup
from orchestrator.server.feeds import Feed
from orchestrator.server.problems import Problem
from orchestrator.server.service import EVERY_RUN, Service, setup_of
from orchestrator.server.tenants import TenantJournal
from orchestrator.standing import CLOSED, Standing, standing
from orchestrator.state import RunState, folded
from orchestrator.waiting import Decision, Waiting

State = Literal["queued"] | Standing

PATIENCE = 0.05
"""Seconds until another look at a run that somebody else is just beginning under the same key."""

LOOKS = 100
"""How many of them, until it is given up."""

SCANNED = 100
"""Runs that are looked at together for a page."""

SCANS = 20
"""How often at most, for one page."""


class Page(Struct, frozen=True, kw_only=True):
    """`following` is what to go on behind, empty at the end."""

    runs: tuple[tuple[Outline, State], ...]
    following: str


class Recalled(Struct, frozen=True, kw_only=True):
    """A run and all that is known of it."""

    outline: Outline
    state: State
    facts: tuple[Recorded, ...]
    folded: RunState

    @property
    def pending(self) -> tuple[Waiting, ...]:
        """What waits for an answer, and has somebody to hear it."""
        return () if self.state in CLOSED else self.folded.pending


class TenantRuns:
    """Every method raises `UnknownRun` for a run that is not the tenant's, as if there were none."""

    def __init__(self, service: Service, tenant: str) -> None:
        self._service, self._journal = service, TenantJournal(service.journal, tenant)

    def new_id(self, name: str = "") -> str:
        """A run's id, by this name or a new one."""
        return f"{self._journal.prefix}{name or self._service.ports.new_id()}"

    async def begin(self, accepted: Accepted, setup: Setup, run: str) -> bool:
        """Write down what was asked for, then work on it. Returns False when the same was asked for before under this id.

        Raises a `Problem` when something else was.
        """
        self._refuse_draining()
        for _ in range(LOOKS):
            try:
                known = await self._begun(accepted, run)
            except RunHeld:
                outline = await self._journal.outline(run)
                if outline.first is None:  # somebody else is just beginning it
                    await anyio.sleep(PATIENCE)
                    continue
                known = setup_of(outline)
            if known is None:
                self._service.begin(run, setup)
                return True
            if known.asked != setup.asked:
                raise Problem(422, "key-reused", f"the key began {run} with another request", run=run)
            return False
        raise Problem(503, "unavailable", f"another server is still beginning {run}")

    async def attach(self, accepted: Accepted, setup: Setup) -> str:
        """Begin a run for a client who is to `leave` it. Returns its id."""
        self._refuse_draining()
        if self._service.underway.full:
            raise Problem(503, "unavailable", "as many runs are under way as there may be; begin it without `attached`, or later")
        run = self.new_id()
        await self._service.attach(run, accepted, setup)
        return run

    def leave(self, run: str) -> None:
        """The client that the run was attached to is gone."""
        self._service.leave(run)

    async def outline(self, run: str) -> Outline:
        """The run at a glance."""
        outline = await self._journal.outline(run)
        if outline.first is None and not outline.damage:  # it was claimed, and nothing was written down
            raise UnknownRun(run)
        return outline

    def state(self, outline: Outline) -> State:
        """Where the run stands. One that has ended is not running, though whoever worked on it may not have let go of it yet."""
        event = outline.work and outline.work.event
        if outline.damage:
            return "damaged"
        if isinstance(event, RunEnded):
            return event.outcome
        if self._service.underway.waits(outline.run):
            return "queued"
        if isinstance(event, RunSuspended) and not (outline.holder and outline.spoken_to):
            return "suspended"
        return standing(outline, (outline.work,) if outline.work else ())

    async def recall(self, run: str) -> Recalled:
        """All that is known of a run. Raises `JournalDamaged` where that can't be read."""
        return await self._recalled(await self.outline(run))

    async def page(self, *, before: str, most: int, states: Collection[State]) -> Page:
        """The newest runs that are older than `before`, in one of the states, or in any where none is given."""
        found: list[tuple[Outline, State]] = []
        for _ in range(SCANS):
            scanned = await self._journal.outlines("", most=SCANNED, before=before)
            for outline in scanned:
                before, state = outline.run, self.state(outline)
                if (not states or state in states) and (outline.first is not None or outline.damage):
                    found.append((outline, state))
                if len(found) == most:
                    return Page(runs=tuple(found), following=before)
            if len(scanned) < SCANNED:
                before = ""
                break
        return Page(runs=tuple(found), following=before)

    async def waiting(self) -> list[Recalled]:
        """Every run in which something waits for an answer, the oldest first. One that is damaged does not hide the others."""
        waiting = []
        for outline in reversed(await self._journal.outlines("", most=EVERY_RUN, unended=True)):
            with suppress(JournalDamaged):
                run = await self._recalled(outline)
                waiting += [run] if run.pending else []
        return waiting

    async def cancel(self, run: str, why: str) -> None:
        """End it for good. Raises a `Problem` when it has ended in another way."""
        outline = await self.outline(run)
        if self.state(outline) == "cancelled":
            return
        self._refuse_over(outline)
        live = self._service.underway.run(run)
        if live is not None:
            await live.cancel(why)
        else:
            await cancel(self._journal, run, why=why, ports=self._service.ports)

    async def stop(self, run: str, why: str) -> None:
        """Begin no further steps. What runs finishes, the rest is skipped, and the answer is made from what there is."""
        self._refuse_over(await self.outline(run))
        live = self._service.underway.run(run)
        if live is not None:
            await live.stop(why)
        else:
            await speak(self._journal, run, StopRequested(why=why), ports=self._service.ports)
            await self._wake(run)

    async def interrupt(self, run: str, text: str) -> None:
        """Send a message to every agent at work."""
        self._refuse_over(await self.outline(run))
        live = self._service.underway.run(run)
        if live is not None:
            await live.interrupt(text)
        else:
            await speak(self._journal, run, InterruptReceived(text=text), ports=self._service.ports)

    async def decide(self, run: str, waiting: str, decision: Decision, *, text: str, by: str) -> None:
        """Answer to what waits, and go on with the run. Raises `UnknownWaiting`."""
        self._refuse_over(await self.outline(run))
        live = self._service.underway.run(run)
        if live is not None:
            await live.decide(waiting, decision, text=text, by=by)
        else:
            await decide(self._journal, run, waiting, decision, text=text, by=by, ports=self._service.ports)
            await self._wake(run)

    def feed(self, run: str) -> AbstractAsyncContextManager[Feed]:
        """What happens in a run that is known to be the tenant's."""
        self._refuse_draining()
        return self._service.following.feed(self._journal.own(run))

    async def _recalled(self, outline: Outline) -> Recalled:
        facts = await self._journal.read(outline.run)
        state = folded(recorded.event for recorded in facts)
        return Recalled(outline=outline, state=self.state(outline), facts=facts, folded=state)

    async def _begun(self, accepted: Accepted, run: str) -> Setup | None:
        """How the run had been begun before; None when it was now. Raises `RunHeld` while somebody works on it."""
        ledger = await open_ledger(self._journal, run, self._service.ports)
        try:
            await ledger.catch_up()
            known = ledger.state.started
            await begin(accepted, ledger)
        finally:
            with anyio.CancelScope(shield=True):
                await ledger.release()
        return None if known is None else Setup.read(known.setup) or Setup(limits=Limits())

    async def _wake(self, run: str) -> None:
        """Go on with a run that somebody has said something to, unless another process does."""
        setup = setup_of(await self.outline(run))
        if setup is not None:
            self._service.begin(run, setup)

    def _refuse_draining(self) -> None:
        if self._service.draining:
            raise Problem(503, "draining", "the server is about to stop; ask again when it is back")

    def _refuse_over(self, outline: Outline) -> None:
        state = self.state(outline)
        if state in (*CLOSED, "failed"):
            raise Problem(409, "run-over", f"run {outline.run!r} has ended: {state}", state=state)
