"""What a journal promises: an append-only record of Facts for each run, with one writer at a time."""

from typing import Protocol

from orchestrator.events.facts import Fact
from orchestrator.events.recorded import Recorded


class Writer(Protocol):
    """The right to write to one run. It lasts until somebody else claims the run."""

    @property
    def epoch(self) -> int:
        """Grows with every claim."""
        ...

    async def append(self, fact: Fact, time: float) -> Recorded:
        """Write one Fact; it gets the next `seq`. Raises `LeaseLost` when the run was claimed by another meanwhile."""
        ...


class Journal(Protocol):
    async def claim(self, run: str, *, holder: str, ttl: float) -> Writer:
        """Become the writer of a run, new or known. `ttl` is seconds until others may take it without asking."""
        ...

    async def read(self, run: str) -> tuple[Recorded, ...]:
        """All Facts of a run in order. Raises `UnknownRun`."""
        ...

    async def runs(self) -> tuple[str, ...]:
        """Every run, oldest first."""
        ...
