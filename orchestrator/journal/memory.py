"""A journal that lives as long as the process: the library's default, and free."""

from dataclasses import dataclass, field

from orchestrator.errors import LeaseLost, UnknownRun
from orchestrator.events.facts import Fact
from orchestrator.events.recorded import Recorded


@dataclass(slots=True)
class _Lines:
    recorded: list[Recorded] = field(default_factory=list)
    epoch: int = 0


class MemoryJournal:
    """Facts in lists, one for each run. The latest claim always wins, since nobody outside the process can hold one."""

    def __init__(self) -> None:
        self._runs: dict[str, _Lines] = {}

    async def claim(self, run: str, *, holder: str, ttl: float) -> "MemoryWriter":  # noqa: ARG002 (the protocol's)
        lines = self._runs.setdefault(run, _Lines())
        lines.epoch += 1
        return MemoryWriter(run, lines)

    async def read(self, run: str) -> tuple[Recorded, ...]:
        if run not in self._runs:
            raise UnknownRun(run)
        return tuple(self._runs[run].recorded)

    async def runs(self) -> tuple[str, ...]:
        return tuple(self._runs)


class MemoryWriter:
    """Appends to one run for as long as its claim is the latest."""

    def __init__(self, run: str, lines: _Lines) -> None:
        self._run, self._lines, self.epoch = run, lines, lines.epoch

    async def append(self, fact: Fact, time: float) -> Recorded:
        if self.epoch != self._lines.epoch:
            raise LeaseLost(self._run, self.epoch, self._lines.epoch)
        recorded = Recorded(seq=len(self._lines.recorded) + 1, time=time, run=self._run, event=fact)
        self._lines.recorded.append(recorded)
        return recorded
