"""What a journal promises: an append-only record of Facts for each run, with one writer at a time."""

from typing import Protocol

from orchestrator.events.facts import Fact
from orchestrator.events.recorded import Recorded

WHOLE_RUN = "run"
"""The scope of a claim to everything in a run."""


class Writer(Protocol):
    """The right to write to one run. It lasts until somebody else claims the same scope of it."""

    @property
    def epoch(self) -> int:
        """Grows with every claim."""
        ...

    async def append(self, fact: Fact, time: float) -> Recorded:
        """Write one Fact; it gets the next `seq`. Raises `LeaseLost` when the run was claimed by another meanwhile."""
        ...


class Journal(Protocol):
    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> Writer:
        """Become the writer of a run, new or known, or of one scope of it. `ttl` is seconds until others may take it unasked."""
        ...

    async def read(self, run: str) -> tuple[Recorded, ...]:
        """All Facts of a run in order. Raises `UnknownRun`."""
        ...

    async def runs(self) -> tuple[str, ...]:
        """Every run, oldest first."""
        ...
