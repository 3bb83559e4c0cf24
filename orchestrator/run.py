"""One goal being met: the story, and the ways to follow it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import anyio

from orchestrator.errors import LeaseLost, RunError
from orchestrator.events.facts import InterruptReceived, RunEnded, RunInterrupted, RunOutcome, Summary
from orchestrator.events.recorded import Recorded
from orchestrator.interrupts import InterruptQueue
from orchestrator.ledger import Ledger
from orchestrator.summary import summarised
from orchestrator.waiting import Waiting
from planner import Plan
from planner.results import Results, Verdict
from registry.errors import DagwrightError
from registry.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the user gets.

    `outcome` is "achieved", or "missing" when the goal was not met and `output` says what lacks, or "suspended" when the run
    waits for a person: `waiting` then says what for, and there is no output yet. `steps` are the results of the last plan.
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


class Run:
    """A run under way, lent by `Orchestrator.open`: leaving its block ends it."""

    def __init__(self, ledger: Ledger, interrupts: InterruptQueue) -> None:
        self._ledger, self._interrupts = ledger, interrupts
        self._over = anyio.Event()
        self._answer: Answer | None = None
        self._error: Exception | None = None

    @property
    def id(self) -> str:
        """What the journal knows the run by."""
        return self._ledger.run

    @property
    def events(self) -> AsyncIterator[Recorded]:
        """Every event from the first one on, then each as it happens; ends with the run. Each reader has its own place."""
        return self._ledger.telling.watch()

    async def interrupt(self, text: str) -> None:
        """Send a message to every agent at work, and to those that begin later."""
        await self._ledger.record(InterruptReceived(text=text))
        self._interrupts.put(text)

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
            await self._lived(story)
        except LeaseLost as error:  # whoever holds the run now writes its end
            self._error = error
        except Exception as bug:  # who waits for the answer hears of it too
            self._error = bug
            raise
        finally:
            self._ledger.telling.end()
            self._over.set()

    async def _lived(self, story: Callable[[], Awaitable[Answer]]) -> None:
        ledger, began = self._ledger, anyio.current_time()
        try:
            self._answer = await story()
        except DagwrightError as error:
            self._error = error
            summary = summarised(ledger.facts, wall_seconds=anyio.current_time() - began, reused=ledger.reused)
            await ledger.record(RunEnded(outcome="failed", summary=summary, error=str(error)))
        finally:
            if self._answer is None and self._error is None:
                with anyio.CancelScope(shield=True):
                    await ledger.record(RunInterrupted(why="the process stopped working on it"))
