"""A journal that lives as long as the process: the library's default, and free."""

from collections import Counter
from dataclasses import dataclass, field

from orchestrator.errors import LeaseLost, UnknownRun
from orchestrator.events.facts import Fact
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import WHOLE_RUN


@dataclass(slots=True)
class _Lines:
    recorded: list[Recorded] = field(default_factory=list)
    epochs: Counter[str] = field(default_factory=Counter)


class MemoryJournal:
    """Facts in lists, one for each run. The latest claim always wins, since nobody outside the process can hold one."""

    def __init__(self) -> None:
        self._runs: dict[str, _Lines] = {}

    async def claim(
        self,
        run: str,
        *,
        holder: str,  # noqa: ARG002 (the protocol's)
        ttl: float,  # noqa: ARG002
        scope: str = WHOLE_RUN,
    ) -> "MemoryWriter":
        lines = self._runs.setdefault(run, _Lines())
        lines.epochs[scope] += 1
        return MemoryWriter(run, scope, lines)

    async def read(self, run: str) -> tuple[Recorded, ...]:
        if run not in self._runs:
            raise UnknownRun(run)
        return tuple(self._runs[run].recorded)

    async def runs(self) -> tuple[str, ...]:
        return tuple(self._runs)


class MemoryWriter:
    """Appends to one run for as long as its claim is the latest."""

    def __init__(self, run: str, scope: str, lines: _Lines) -> None:
        self._run, self._scope, self._lines = run, scope, lines
        self.epoch = lines.epochs[scope]

    async def append(self, fact: Fact, time: float) -> Recorded:
        if self.epoch != self._lines.epochs[self._scope]:
            raise LeaseLost(self._run, self.epoch, self._lines.epochs[self._scope])
        recorded = Recorded(seq=len(self._lines.recorded) + 1, time=time, run=self._run, event=fact)
        self._lines.recorded.append(recorded)
        return recorded
