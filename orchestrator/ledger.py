"""The ledger of one run: the one place where Facts are written, folded and announced, in that order."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime

from orchestrator.events.facts import Fact
from orchestrator.events.glimpses import Glimpse
from orchestrator.events.recorded import Recorded
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journal.protocol import Journal, Writer
from orchestrator.ports import Ports
from orchestrator.state import RunState, folded
from orchestrator.watching import Telling
from registry.calls import Call


class Ledger:
    """Writes to the journal, keeps the state that the Facts fold to, and tells watchers.

    It also allots call keys: scope / kind / digest / n, where n counts equal digests within the scope in the order the calls were
    made. So a key doesn't depend on what other calls came before, and a resumed run finds its finished calls again.
    """

    def __init__(self, run: str, writer: Writer, *, now: Callable[[], datetime], state: RunState | None = None) -> None:
        self.run = run
        self.state = state or RunState()
        self.telling = Telling()
        self.reused = 0
        self._writer = writer
        self._now = now
        self._counted: Counter[tuple[str, int]] = Counter()

    async def record(self, fact: Fact) -> None:
        """Write first, announce second. Raises `LeaseLost` when the run is no longer ours."""
        recorded = await self._writer.append(fact, self._now().timestamp())
        self.state.fold(fact)
        self.telling.tell(recorded)

    def glimpse(self, glimpse: Glimpse) -> None:
        """Tell those who watch now; nobody else will ever know."""
        self.telling.tell(Recorded(seq=None, time=self._now().timestamp(), run=self.run, event=glimpse))

    def key(self, call: Call, kind: str, digest: str, *, across_attempts: bool = False) -> str:
        """The key of the next call of this content in this scope. An effect has one key `across_attempts`."""
        stem = f"{call.scope}/{kind}/{digest}"
        counted = (stem, call.attempt)
        self._counted[counted] += 1
        attempt = "" if across_attempts or call.attempt == 1 else f"@{call.attempt}"
        return f"{stem}/{self._counted[counted]}{attempt}"

    @property
    def facts(self) -> Iterable[Recorded]:
        """Every Fact so far, those of earlier lives of the run included."""
        return self.telling.facts()


async def open_ledger(journal: Journal, run: str, ports: Ports) -> Ledger:
    """The ledger of a new run."""
    writer = await journal.claim(run, holder=run, ttl=_CLAIM_SECONDS)
    return Ledger(run, writer, now=ports.now)


async def reopen_ledger(journal: Journal, run: str, ports: Ports) -> Ledger:
    """The ledger of a run that the journal knows, with its Facts folded and told again. Raises `UnknownRun`."""
    await journal.read(run)  # a claim of a run that nobody knows would begin it
    writer = await journal.claim(run, holder=run, ttl=_CLAIM_SECONDS)
    past = await journal.read(run)  # from here on nobody else can add to it
    ledger = Ledger(run, writer, now=ports.now, state=folded(recorded.event for recorded in past))
    for recorded in past:
        ledger.telling.tell(recorded)
    return ledger


async def private_ledger() -> Ledger:
    """For an agent or a plan that is used alone: nothing outlives it, and nobody else knows it."""
    return await open_ledger(MemoryJournal(), "alone", Ports())


_CLAIM_SECONDS = 60.0
