"""The ledger of one run: the one place where Facts are written, folded and announced, in that order."""

import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import anyio
import anyio.lowlevel
from msgspec import Struct, field

from orchestrator.errors import RunError
from orchestrator.events.facts import Fact, PhaseBegan, StepStarted, ToolStarted
from orchestrator.events.glimpses import Glimpse
from orchestrator.events.recorded import Recorded
from orchestrator.journal.memory import MemoryJournal, MemoryWriter
from orchestrator.journal.protocol import Journal, Line, Writer
from orchestrator.ports import Ports
from orchestrator.sharing import Sharing
from orchestrator.state import RunState
from orchestrator.watching import Telling
from registry.calls import Call

CLAIM_SECONDS = 30.0
"""How long a claim outlives its holder's last sign of life."""

Listener = Callable[[Recorded], None]


class Ledger:
    """Writes to the journal, keeps the state that the Facts fold to, and tells watchers.

    It also allots call keys: scope / kind / digest / n, where n counts equal digests within the scope in the order the calls were
    made. So a key doesn't depend on what other calls came before, and a resumed run finds its finished calls again.
    """

    def __init__(
        self,
        run: str,
        writer: Writer,
        journal: Journal,
        *,
        clock: Callable[[], float],
        past: Iterable[Recorded] = (),
    ) -> None:
        self.run = run
        self.state = RunState()
        self.sharing = Sharing(self.state)
        self.telling = Telling()
        self.reused = 0
        self._writer, self._journal, self._clock = writer, journal, clock
        self._at_once = writer.write if isinstance(writer, MemoryWriter) else None
        self._counted: dict[str, dict[tuple[str, int], int]] = {}
        self._listeners: dict[type[object], list[Listener]] = {}
        self._told = 0
        self._next: _Batch | None = None
        self._lost: Exception | None = None
        self._pen = _Pen()
        for recorded in past:
            self._announce(recorded)
            self.sharing.learn(recorded.event)

    async def record(self, fact: Fact) -> Recorded:
        """Write first, announce second. Returns what counts: for an outcome that was there already, the first one.

        Facts that come while others are being written are written together. Nothing begins in a run that is being cancelled.
        Raises `LeaseLost` when the run is no longer ours, and other `RunError`s of the journal.
        """
        if self.state.cancelled and isinstance(fact, PhaseBegan | StepStarted | ToolStarted):
            await anyio.lowlevel.checkpoint_if_cancelled()  # whose turn it was already has not heard of it
        if self._at_once is None or not self._pen.free:
            return await self._in_turn((fact, self._clock()))
        recorded = self._at_once(fact, self._clock())  # where nothing has to be waited for, nobody comes in between
        if recorded.seq == self._told + 1:
            self._announce(recorded)
        else:
            for each in await self._fresh((recorded,)):
                self._announce(each)
        return recorded

    def add(self, fact: Fact) -> bool:
        """Have it written with what others are about to write. False where nobody is, or the run is being cancelled."""
        if self._next is None or self.state.cancelled:
            return False
        self._next.add((fact, self._clock()))
        self._next.entrusted = True
        return True

    def jot(self, fact: Fact) -> Awaitable[object]:
        """`record` for what may be read a moment later: where others are about to write, it goes with theirs at no delay."""
        return _added() if self.add(fact) else self.record(fact)

    async def written(self) -> None:
        """Until all that was added is written. Raises why some of it could not be, whoever was to write it."""
        if self._next is not None:
            await self._next.written.wait()
        await self._pen.wait()
        if self._lost is not None:
            raise self._lost

    async def catch_up(self) -> None:
        """Take in what others have written to this run."""
        await self._pen.wait()
        self._pen.free = False
        try:
            for recorded in await self._journal.read(self.run, after=self._told):
                self._announce(recorded)
        finally:
            self._pen.put_back()

    async def keep(self) -> None:
        """Hold the claim for as long as this goes on, and hear what others say to the run. Raises `LeaseLost`."""
        while self._writer.glance is not None:
            await anyio.sleep(self._writer.glance)
            if await self._writer.renew() > self._told:
                await self.catch_up()

    async def release(self) -> None:
        """Let others have the run at once."""
        await self._writer.release()

    def glimpse(self, glimpse: Glimpse) -> None:
        """Tell those who watch now; nobody else will ever know."""
        self.telling.tell(Recorded(seq=None, time=self._clock(), run=self.run, event=glimpse))

    @contextmanager
    def listening(self, listener: Listener, *kinds: type[Fact]) -> Iterator[None]:
        """Within the block the listener hears of each new Fact of these kinds, whoever wrote it, when it has been folded."""
        for kind in kinds:
            self._listeners.setdefault(kind, []).append(listener)
        try:
            yield
        finally:
            for kind in kinds:
                self._listeners[kind].remove(listener)

    def key(self, call: Call, kind: str, digest: str, *, across_attempts: bool = False) -> str:
        """The key of the next call of this content in this scope. An effect has one key `across_attempts`."""
        stem = f"{call.scope}/{kind}/{digest}"
        counted, this = self._counted.setdefault(call.scope, {}), (stem, call.attempt)
        nth = counted[this] = counted.get(this, 0) + 1
        attempt = "" if across_attempts or call.attempt == 1 else f"@{call.attempt}"
        return f"{stem}/{nth}{attempt}"

    def answered(self, call: Call) -> int:
        """How many replies are written down to calls of this scope, purpose and attempt."""
        return self.state.answered[call.scope, call.purpose, "" if call.attempt == 1 else str(call.attempt)]

    def rewind(self, scope: str) -> None:
        """All calls of the scope are about to be made again, from the first one on: each finds the key that it had."""
        self._counted.pop(scope, None)

    @property
    def facts(self) -> Iterable[Recorded]:
        """Every Fact so far, those of earlier lives of the run included."""
        return self.telling.facts()

    async def _in_turn(self, line: Line) -> Recorded:
        """Write when others have written, with what comes meanwhile."""
        if self._pen.free and self._next is None:
            return (await self._write((line,)))[0]
        batch, leads = self._next, self._next is None
        if batch is None:
            batch = self._next = _Batch()
        place = batch.add(line)
        if leads:
            await self._write_all(batch)
        else:
            await batch.written.wait()  # to be cancelled here changes nothing: the Fact is on its way
        if batch.error is not None:
            raise batch.error
        return batch.recorded[place]

    async def _write_all(self, batch: "_Batch") -> None:
        """Write down what is in the batch by the time that it is its turn."""
        try:
            with anyio.CancelScope(shield=True):  # waiting is no place to be cancelled at: what has happened is written down
                await self._pen.wait()
            self._next = None
            batch.recorded = await self._write(batch.lines)
        except Exception as error:
            batch.error = error
            if batch.entrusted:
                self._lost = error
            raise
        finally:
            batch.written.set()

    async def _write(self, lines: Sequence[Line]) -> tuple[Recorded, ...]:
        """Write, then announce in the order of the journal, with what others wrote in between. The pen must be free."""
        pen = self._pen
        pen.free = False
        try:
            written = await self._writer.append(*lines)
            for recorded in await self._fresh(written):
                self._announce(recorded)
        finally:
            pen.put_back()
        return written

    async def _fresh(self, written: Sequence[Recorded]) -> Sequence[Recorded]:
        """What nobody has been told of yet: of what was written, and of what others wrote before it."""
        if written and written[0].seq == self._told + 1 and written[-1].seq == self._told + len(written):
            return written  # as nearly always: all of it is new, and nobody wrote in between
        fresh = [recorded for recorded in written if recorded.place > self._told]
        if fresh and fresh[-1].place > self._told + len(fresh):
            with anyio.CancelScope(shield=True):
                return await self._journal.read(self.run, after=self._told)
        return fresh

    def _announce(self, recorded: Recorded) -> None:
        self._told += 1
        self.state.fold(recorded.event)
        self.telling.tell(recorded)
        for listener in self._listeners.get(type(recorded.event), ()):
            listener(recorded)


async def _added() -> None:
    """What was to be done is done."""


class _Pen(Struct):
    """Only one writes at a time. A lock would do as well and cost as much as all the rest of writing down a Fact in memory."""

    free: bool = True
    returned: anyio.Event | None = None

    async def wait(self) -> None:
        """Until it is free, which lasts to the next checkpoint of whoever waited."""
        while not self.free:
            self.returned = self.returned or anyio.Event()
            await self.returned.wait()

    def put_back(self) -> None:
        self.free = True
        if self.returned is not None:
            self.returned.set()
            self.returned = None


class _Batch(Struct):
    """Facts that go into the journal together, and what became of them. Whoever brings the first one writes them all.

    `entrusted` says that for some of them nobody waits here.
    """

    lines: list[Line] = field(default_factory=list)
    entrusted: bool = False
    recorded: tuple[Recorded, ...] = ()
    error: Exception | None = None
    written: anyio.Event = field(default_factory=anyio.Event)

    def add(self, line: Line) -> int:
        """The place of the Fact in the batch."""
        self.lines.append(line)
        return len(self.lines) - 1


async def open_ledger(journal: Journal, run: str, ports: Ports) -> Ledger:
    """The ledger of a new run."""
    writer = await journal.claim(run, holder=ports.holder(), ttl=CLAIM_SECONDS)
    return Ledger(run, writer, journal, clock=ports.clock)


async def reopen_ledger(journal: Journal, run: str, ports: Ports) -> Ledger:
    """The ledger of a run that the journal knows, with its Facts folded and told again. Raises `UnknownRun`, `RunHeld`."""
    await journal.read(run, after=sys.maxsize)  # a claim of a run that nobody knows would begin it
    writer = await journal.claim(run, holder=ports.holder(), ttl=CLAIM_SECONDS)
    try:
        past = await journal.read(run)  # from here on nobody else can add to it
    except RunError:
        await writer.release()
        raise
    return Ledger(run, writer, journal, clock=ports.clock, past=past)


async def private_ledger() -> Ledger:
    """For an agent or a plan that is used alone: nothing outlives it, and nobody else knows it."""
    ports = Ports()
    return await open_ledger(MemoryJournal(), ports.new_id(), ports)
