"""One goal being met: the story, and the ways to follow it."""

from collections.abc import Awaitable, Callable

import anyio
from msgspec import Struct

from orchestrator.errors import LeaseLost, RunCancelled, RunError
from orchestrator.events.facts import (
    CancelRequested,
    InterruptReceived,
    RunEnded,
    RunInterrupted,
    RunOutcome,
    StopRequested,
)
from orchestrator.events.figures import Summary
from orchestrator.events.recorded import Recorded
from orchestrator.interrupts import InterruptQueue
from orchestrator.ledger import Ledger
from orchestrator.state import abandoned, answer_to
from orchestrator.summary import summarised
from orchestrator.unwrapping import sole_error
from orchestrator.waiting import Decision, Waiting
from orchestrator.watching import Watcher
from planner import Plan
from planner.results import Missing, Results, Verdict
from registry.errors import DagwrightError
from registry.usage import Usage


class Answer(Struct, frozen=True, kw_only=True):
    """What the user gets.

    `outcome` is "achieved", or "missing" when the goal was not met and `output` says what lacks, or "suspended" when the run
    waits for a person: `waiting` then says what for, and there is no output yet. `steps` are the results of the last plan. What
    was spent of the run's limits, and whether it had to land for one, is told in `summary.budget`.
    """

    run_id: str
    outcome: RunOutcome
    output: str
    plan: Plan
    steps: Results
    usage: Usage
    summary: Summary
    verdict: Verdict | None = None
    waiting: tuple[Waiting, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """What lacks to the goal, as far as anybody said; nothing where it was achieved."""
        return self.verdict.missing if isinstance(self.verdict, Missing) else ()


class Run:
    """A run under way, lent by `Orchestrator.open`: leaving its block ends it."""

    def __init__(self, ledger: Ledger, interrupts: InterruptQueue) -> None:
        self._ledger, self._interrupts = ledger, interrupts
        self._over = anyio.Event()
        self._work = anyio.CancelScope()
        self._answer: Answer | None = None
        self._error: Exception | None = None
        for recorded in ledger.facts:  # of earlier lives of the run
            if isinstance(recorded.event, InterruptReceived):
                interrupts.put(recorded.event.text)

    @property
    def id(self) -> str:
        """What the journal knows the run by."""
        return self._ledger.run

    @property
    def events(self) -> Watcher:
        """Every event from the first one on, then each as it happens; ends with the run. Each reader has its own place."""
        return self._ledger.telling.watch()

    @property
    def under_way(self) -> bool:
        """Whether it is still being worked on."""
        return not self._over.is_set()

    @property
    def pending(self) -> tuple[Waiting, ...]:
        """What waits for an answer, in the order it came up."""
        return self._ledger.state.pending

    async def interrupt(self, text: str) -> None:
        """Send a message to every agent at work, and to those that begin later."""
        await self._ledger.record(InterruptReceived(text=text))

    async def decide(self, waiting: str, decision: Decision, *, text: str = "", by: str = "") -> None:
        """Answer to what waits under this id: approve or reject it, answer a question, or say what became of a call in doubt.

        Raises `UnknownWaiting` when nothing waits under it, or not for such an answer.
        """
        await self._ledger.record(answer_to(self.id, self._ledger.state, waiting, decision, text=text, by=by))

    async def cancel(self, why: str = "") -> None:
        """End the run for good: nothing new starts, what runs is cancelled. What was finished stays finished, the run too."""
        if not self._ledger.state.over:
            await self._ledger.record(CancelRequested(why=why))

    async def stop(self, why: str = "") -> None:
        """Begin no further steps: those that run finish, the rest is skipped, and the answer is made from what there is."""
        if not self._ledger.state.over:
            await self._ledger.record(StopRequested(why=why))

    async def answer(self) -> Answer:
        """Waits for the end. Raises the error that ended the run, if one did."""
        await self._over.wait()
        if self._error is not None:
            raise self._error
        if self._answer is None:
            raise RunError(f"run {self.id!r} was interrupted; it can be resumed")
        return self._answer

    async def live(self, story: Callable[[], Awaitable[Answer]]) -> None:
        """Tell the story to its end, and write down how it ended: the one way out of a run."""
        try:
            with self._ledger.listening(self._hear, InterruptReceived, CancelRequested):
                await self._lived(story)
        except LeaseLost as error:  # whoever holds the run now writes its end
            self._error = error
        except Exception as bug:  # who waits for the answer hears of it too
            self._error = bug
            raise
        finally:
            self._ledger.telling.end()
            self._over.set()
            with anyio.CancelScope(shield=True):
                await self._ledger.release()

    def _hear(self, recorded: Recorded) -> None:
        match recorded.event:
            case InterruptReceived(text=text):
                self._interrupts.put(text)
            case CancelRequested():
                self._work.cancel()
            case _:
                pass

    async def _lived(self, story: Callable[[], Awaitable[Answer]]) -> None:
        ledger, began = self._ledger, anyio.current_time()
        try:
            if not ledger.state.cancelled:
                with self._work:
                    self._answer = await self._kept(story)
            if ledger.state.cancelled:  # while it was being suspended
                self._answer = None
        except DagwrightError as error:
            self._error = error
            await ledger.record(RunEnded(outcome="failed", summary=self._summary(began), error=str(error)))
        finally:
            if self._answer is None and self._error is None:
                with anyio.CancelScope(shield=True):
                    await self._cut_short(began)

    async def _kept(self, story: Callable[[], Awaitable[Answer]]) -> Answer:
        """The story, told while the claim to the run is kept."""
        with sole_error():
            async with anyio.create_task_group() as group:
                group.start_soon(self._ledger.keep)
                answer = await story()
                group.cancel_scope.cancel()
        return answer

    async def _cut_short(self, began: float) -> None:
        ledger = self._ledger
        if not ledger.state.cancelled:
            await ledger.record(RunInterrupted(why="the process stopped working on it"))
            return
        self._error = RunCancelled(self.id)
        await ledger.written()  # steps may have ended a moment ago
        for end in abandoned(ledger.state):
            await ledger.record(end)
        if not ledger.state.over:
            await ledger.record(RunEnded(outcome="cancelled", summary=self._summary(began), error=str(self._error)))

    def _summary(self, began: float) -> Summary:
        return summarised(self._ledger.facts, wall_seconds=anyio.current_time() - began, reused=self._ledger.reused)
