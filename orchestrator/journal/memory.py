"""A journal that lives as long as the process: the library's default, and free."""

from dataclasses import dataclass, field

import anyio

from orchestrator.errors import LeaseLost, RunHeld, UnknownRun
from orchestrator.events.recorded import Recorded, outcome_key
from orchestrator.journal.protocol import WHOLE_RUN, Line, Listed


@dataclass(slots=True)
class _Claim:
    epoch: int = 0
    holder: str = ""
    until: float = 0.0


@dataclass(slots=True)
class _Lines:
    recorded: list[Recorded] = field(default_factory=list)
    outcomes: dict[str, Recorded] = field(default_factory=dict)
    claims: dict[str, _Claim] = field(default_factory=dict)


class MemoryJournal:
    """Facts in lists, one for each run."""

    def __init__(self) -> None:
        self._runs: dict[str, _Lines] = {}

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> "MemoryWriter":
        lines, now = self._runs.get(run) or _Lines(), anyio.current_time()
        claim = lines.claims.setdefault(scope, _Claim())
        _refuse_held(run, claim, holder)
        claim.epoch, claim.holder, claim.until = claim.epoch + 1, holder, now + ttl
        self._runs[run] = lines
        return MemoryWriter(run, lines, claim, ttl)

    async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
        return tuple(self._known(run).recorded[after:])

    async def runs(self) -> tuple[Listed, ...]:
        return tuple(_listed(run, lines) for run, lines in self._runs.items())

    async def forget(self, run: str) -> None:
        claims = self._known(run).claims.values()
        for claim in claims:
            _refuse_held(run, claim, "")
        for claim in claims:
            claim.epoch = 0  # whoever still has it writes to nobody's run
        del self._runs[run]

    def _known(self, run: str) -> _Lines:
        if run not in self._runs:
            raise UnknownRun(run, self._runs)
        return self._runs[run]


class MemoryWriter:
    """Appends to one run for as long as its claim is the latest."""

    glance: float | None = None

    def __init__(self, run: str, lines: _Lines, claim: _Claim, ttl: float) -> None:
        self._run, self._lines, self._claim, self._ttl = run, lines, claim, ttl
        self.epoch = claim.epoch

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        self._hold()
        return tuple(map(self._written, lines))

    async def renew(self) -> int:
        self._hold()
        return len(self._lines.recorded)

    async def release(self) -> None:
        if self.epoch == self._claim.epoch:
            self._claim.holder, self._claim.until = "", 0.0

    def _hold(self) -> None:
        if self.epoch != self._claim.epoch:
            raise LeaseLost(self._run, self.epoch, self._claim.epoch)
        self._claim.until = anyio.current_time() + self._ttl

    def _written(self, line: Line) -> Recorded:
        fact, time = line
        key = outcome_key(fact)
        if key and (first := self._lines.outcomes.get(key)) is not None:
            return first
        recorded = Recorded(seq=len(self._lines.recorded) + 1, time=time, run=self._run, event=fact)
        self._lines.recorded.append(recorded)
        if key:
            self._lines.outcomes[key] = recorded
        return recorded


def _refuse_held(run: str, claim: _Claim, holder: str) -> None:
    left = claim.until - anyio.current_time()
    if claim.holder not in ("", holder) and left > 0:
        raise RunHeld(run, claim.holder, left)


def _listed(run: str, lines: _Lines) -> Listed:
    whole = lines.claims.get(WHOLE_RUN, _Claim())
    times = [recorded.time for recorded in lines.recorded]
    return Listed(
        run=run,
        facts=len(times),
        began=times[0] if times else None,
        latest=times[-1] if times else None,
        holder=whole.holder if whole.until > anyio.current_time() else "",
    )
