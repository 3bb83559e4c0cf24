"""What a journal promises: an append-only record of Facts for each run, with one writer at a time."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import Struct

from orchestrator.events.facts import Fact
from orchestrator.events.recorded import Recorded

WHOLE_RUN = "run"
"""The scope of a claim to everything in a run."""

WORD = "word"
"""The scope of a claim to say something to a run that another may be working on: an answer, a message, a cancellation."""

Line = tuple[Fact, float]
"""A Fact to be written, and the moment it became true, in seconds since the epoch."""


class Listed(Struct, frozen=True, kw_only=True):
    """A run as a journal lists it. `began` and `latest` are the times of its first and its last Fact, None where it has none.

    `holder` is who has claimed the whole run and not let go, if anybody. `damage` is why it can't be read, empty when it can.
    """

    run: str
    facts: int = 0
    began: float | None = None
    latest: float | None = None
    holder: str = ""
    damage: str = ""


class Outline(Listed, frozen=True, kw_only=True):
    """A run at a glance: its `first` Fact, and the last one that is `work` on it and no word from outside."""

    first: Recorded | None = None
    work: Recorded | None = None

    @property
    def spoken_to(self) -> bool:
        """Whether somebody said something to it since anybody worked on it."""
        return self.work is not None and self.facts > self.work.place


class Writer(Protocol):
    """The right to write to one scope of one run. It lasts until it is released, or somebody else claims the scope."""

    @property
    def epoch(self) -> int:
        """Grows with every claim of the scope."""
        ...

    @property
    def glance(self) -> float | None:
        """How often to `renew`, in seconds. None where there is no need: nobody else can write or claim unnoticed."""
        ...

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        """Write Facts, all or none; each gets the next `seq` of the run.

        An outcome whose key has one already is not written: what came first is returned in its place. Never half done: a
        cancellation comes before it or after it. Raises `LeaseLost` when the scope was claimed by another meanwhile.
        """
        ...

    async def renew(self) -> int:
        """Go on holding the claim. Returns the run's last `seq`, for others may have written. Raises `LeaseLost`."""
        ...

    async def release(self) -> None:
        """Let go of the claim, if it is still ours."""
        ...


class Journal(Protocol):
    """Runs and who works on them. Where they are kept on disk, everything here and in `Writer` may raise `JournalUnusable`."""

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> Writer:
        """Become the writer of a run, new or known, or of one scope of it.

        `ttl` is seconds until others may take it from a holder who does not renew. Damaged records at the end of the run are cut
        off, and a `TailCut` says so. Raises `RunHeld` while another holds it, and `JournalDamaged`.
        """
        ...

    async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
        """The Facts of a run behind this `seq`, in order, but for those that the next claim would cut off.

        Raises `UnknownRun`, `JournalDamaged`.
        """
        ...

    async def runs(self) -> tuple[Listed, ...]:
        """Every run, oldest first."""
        ...

    async def outline(self, run: str) -> Outline:
        """One run at a glance. Raises `UnknownRun`."""
        ...

    async def outlines(self, prefix: str, *, most: int, before: str = "", unended: bool = False) -> tuple[Outline, ...]:
        """The newest runs whose ids begin so, the newest first, and only those that are older than the run `before`.

        `unended` leaves out those whose last work was to end. However long they are, little of them is read. Raises `UnknownRun`.
        """
        ...

    async def durations(self, keys: Iterable[str], *, prefix: str = "") -> Mapping[str, tuple[float, ...]]:
        """How many seconds steps took that went well, by their scope and by what they are like: the latest first.

        Of each key the `LATEST` ones at the most of runs whose ids begin with the prefix, among the `LOOKED_AT` latest of all
        runs; none of keys that nothing is known of. `keys` are not looked at while nothing is known at all. So it takes no longer
        for the number of runs.
        """
        ...

    async def forget(self, run: str) -> None:
        """Delete a run and all that belongs to it. Raises `UnknownRun`, and `RunHeld` while somebody works on it."""
        ...
