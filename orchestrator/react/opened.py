"""An agent's run to follow while it goes on."""

from collections.abc import AsyncIterator, Awaitable, Callable

import anyio

from orchestrator.errors import RunError
from orchestrator.events.facts import InterruptReceived
from orchestrator.events.recorded import Recorded
from orchestrator.interrupts import InterruptQueue
from orchestrator.ledger import Ledger
from orchestrator.react.outcome import AgentResult


class AgentRun:
    """A run under way, lent by `ReActAgent.open`: leaving its block ends it."""

    def __init__(self, ledger: Ledger, interrupts: InterruptQueue) -> None:
        self._ledger, self._interrupts = ledger, interrupts
        self._over = anyio.Event()
        self._result: AgentResult | None = None
        self._error: Exception | None = None

    @property
    def events(self) -> AsyncIterator[Recorded]:
        """Every event from the first one on, then each as it happens; ends with the run. Each reader has its own place."""
        return self._ledger.telling.watch()

    async def interrupt(self, text: str) -> None:
        """Send a message to the agent. Where it comes too late for it, the result has it among the `unanswered`."""
        await self._ledger.record(InterruptReceived(text=text))
        self._interrupts.put(text)

    async def result(self) -> AgentResult:
        """Waits for the end. Raises the error that ended the run, if one did."""
        await self._over.wait()
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RunError("the agent's run was left before its end")
        return self._result

    async def live(self, work: Callable[[], Awaitable[AgentResult]]) -> None:
        """Do the work to its end: the one way out of a run."""
        try:
            self._result = await work()
        except Exception as bug:  # who waits for the result hears of it too
            self._error = bug
            raise
        finally:
            self._ledger.telling.end()
            self._over.set()
