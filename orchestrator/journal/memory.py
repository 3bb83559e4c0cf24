"""A journal that lives as long as the process: the library's default, and free."""

from collections.abc import Iterable, Mapping
from itertools import islice
from math import inf

import anyio
from msgspec import Struct, field

from orchestrator.errors import LeaseLost, RunHeld, UnknownRun
from orchestrator.events.facts import Fact, RunEnded, StepEnded, Word
from orchestrator.events.recorded import Recorded, outcome_of
from orchestrator.journal.durations import Remembered
from orchestrator.journal.protocol import WHOLE_RUN, Line, Listed, Outline


class _Claim(Struct):
    epoch: int = 0
    holder: str = ""
    until: float = 0.0


class _Lines(Struct):
    recorded: list[Recorded] = field(default_factory=list)
    outcomes: dict[tuple[type[Fact], str], Recorded] = field(default_factory=dict)
    claims: dict[str, _Claim] = field(default_factory=dict)
    remembered: Remembered = field(default_factory=Remembered)


class MemoryJournal:
    """Facts in lists, one for each run."""

    def __init__(self) -> None:
        self._runs: dict[str, _Lines] = {}
        self._remembered = Remembered()

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> "MemoryWriter":
        lines, now = self._runs.get(run) or _Lines(remembered=self._remembered), anyio.current_time()
        claim = lines.claims.setdefault(scope, _Claim())
        _refuse_held(run, claim, holder)
        claim.epoch, claim.holder, claim.until = claim.epoch + 1, holder, now + ttl
        self._runs[run] = lines
        return MemoryWriter(run, lines, claim, ttl)

    async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
        return tuple(self._known(run).recorded[after:])

    async def runs(self) -> tuple[Listed, ...]:
        return tuple(_listed(run, lines) for run, lines in self._runs.items())

    async def outline(self, run: str) -> Outline:
        return _outline(run, self._known(run))

    async def outlines(self, prefix: str, *, most: int, before: str = "", unended: bool = False) -> tuple[Outline, ...]:
        runs = list(self._runs)
        runs = runs[: runs.index(self._known_name(before))] if before else runs
        newest = (_outline(run, self._runs[run]) for run in reversed(runs) if run.startswith(prefix))
        return tuple(islice((each for each in newest if not (unended and _has_ended(each))), most))

    async def durations(self, keys: Iterable[str], *, prefix: str = "") -> Mapping[str, tuple[float, ...]]:
        return self._remembered.latest(keys, prefix)

    async def forget(self, run: str) -> None:
        claims = self._known(run).claims.values()
        for claim in claims:
            _refuse_held(run, claim, "")
        for claim in claims:
            claim.epoch = 0  # whoever still has it writes to nobody's run
        del self._runs[run]
        self._remembered.forget(run)

    def _known(self, run: str) -> _Lines:
        return self._runs[self._known_name(run)]

    def _known_name(self, run: str) -> str:
        if run not in self._runs:
            raise UnknownRun(run, self._runs)
        return run


class MemoryWriter:
    """Appends to one run for as long as its claim is the latest."""

    glance: float | None = None

    def __init__(self, run: str, lines: _Lines, claim: _Claim, ttl: float) -> None:
        self._run, self._lines, self._claim, self._ttl = run, lines, claim, ttl
        self._renewed = -inf  # by the clock of the Facts
        self.epoch = claim.epoch

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        self._refuse_lost()
        self._hold()
        return tuple([self.write(*line) for line in lines])

    def write(self, fact: Fact, time: float) -> Recorded:
        """`append` of one Fact, for those who know that nothing is waited for here."""
        if self.epoch != self._claim.epoch:
            self._refuse_lost()
        if abs(time - self._renewed) > self._ttl / 10:
            self._renewed = time
            self._hold()
        lines = self._lines
        recorded = Recorded(seq=len(lines.recorded) + 1, time=time, run=self._run, event=fact)
        outcome = outcome_of(fact)
        if outcome:
            first = lines.outcomes.setdefault((type(fact), outcome), recorded)
            if first is not recorded:
                return first
        lines.recorded.append(recorded)
        if type(fact) is StepEnded:
            lines.remembered.add(self._run, fact)
        return recorded

    async def renew(self) -> int:
        self._refuse_lost()
        self._hold()
        return len(self._lines.recorded)

    async def release(self) -> None:
        if self.epoch == self._claim.epoch:
            self._claim.holder, self._claim.until = "", 0.0

    def _refuse_lost(self) -> None:
        if self.epoch != self._claim.epoch:
            raise LeaseLost(self._run, self.epoch, self._claim.epoch)

    def _hold(self) -> None:
        self._claim.until = anyio.current_time() + self._ttl


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


def _outline(run: str, lines: _Lines) -> Outline:
    listed, recorded = _listed(run, lines), lines.recorded
    work = next((each for each in reversed(recorded) if not isinstance(each.event, Word)), None)
    at_a_glance = {name: getattr(listed, name) for name in ("run", "facts", "began", "latest", "holder")}
    return Outline(**at_a_glance, first=recorded[0] if recorded else None, work=work)


def _has_ended(outline: Outline) -> bool:
    return outline.work is not None and isinstance(outline.work.event, RunEnded)
