"""How a process comes to its end, or to a halt: by a signal to itself, at a moment that is counted."""

import os
import signal
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.events.recorded import Recorded, encode
from orchestrator.journal.protocol import WHOLE_RUN, Journal, Line, Listed, Writer
from tests.scenarios.outside import MODEL, Execution, Folder

Moment = Literal["before", "amid", "after", "effect", "meanwhile"]
"""Before a Fact is written, while it is, when it is and nobody was told; when a tool has acted and no outcome is written; or
whatever goes on after so many half milliseconds."""


@dataclass(frozen=True, slots=True)
class Blow:
    """The `nth` moment of this kind is the last of the process, or the last for now."""

    moment: Moment
    nth: int
    by: signal.Signals = signal.SIGKILL


class Fate:
    """How far a process is from its blow. Without one it lives on."""

    def __init__(self, blow: Blow | None) -> None:
        self._blow, self._reached = blow, Counter[Moment]()
        self._at_work, self._due = 0, False
        if blow is not None and blow.moment == "meanwhile":
            self._strike_in(blow.nth / 2_000)

    def reach(self, moment: Moment, moments: int = 1) -> None:
        self._reached[moment] += moments
        before = self._reached[moment] - moments
        if self._blow is None or self._blow.moment != moment or not before < self._blow.nth <= self._reached[moment]:
            return
        if moment == "amid":
            self._strike_in(self._blow.nth % 10 / 20_000)  # a write takes about half a millisecond
        elif self._blow.by == signal.SIGSTOP and self._at_work:
            self._due = True
        else:
            self._strike()

    @contextmanager
    def working(self) -> Iterator[None]:
        """The journal is at work. Who stands still meanwhile would hold up all others, so a halt waits for the end of that."""
        self._at_work += 1
        try:
            yield
        finally:
            self._at_work -= 1
            if self._due and not self._at_work:
                self._due = False
                self._strike()

    def _strike_in(self, seconds: float) -> None:
        def strike() -> None:
            time.sleep(seconds)
            self._strike()

        threading.Thread(target=strike, daemon=True).start()

    def _strike(self) -> None:
        assert self._blow is not None
        os.kill(os.getpid(), self._blow.by)


class FatalFolder(Folder):
    def __init__(self, path: Path, life: int, fate: Fate) -> None:
        super().__init__(path, life)
        self._fate = fate

    def happen(self, execution: Execution) -> None:
        super().happen(execution)
        if execution.tool != MODEL:
            self._fate.reach("effect")


class FatalJournal:
    """What it acknowledges is noted where the engine can't see it. `ttl` takes the place of everybody's."""

    def __init__(self, inner: Journal, notes: Path, fate: Fate, *, ttl: float | None = None) -> None:
        self._inner, self._fate, self._ttl = inner, fate, ttl
        self._notes = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> "FatalWriter":
        with self._fate.working():
            writer = await self._inner.claim(run, holder=holder, ttl=self._ttl or ttl, scope=scope)
        return FatalWriter(writer, self._notes, self._fate)

    async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
        with self._fate.working():
            return await self._inner.read(run, after=after)

    async def runs(self) -> tuple[Listed, ...]:
        return await self._inner.runs()

    async def durations(self, keys: Iterable[str], *, prefix: str = "") -> Mapping[str, tuple[float, ...]]:
        return await self._inner.durations(keys, prefix=prefix)

    async def forget(self, run: str) -> None:
        await self._inner.forget(run)


class FatalWriter:
    def __init__(self, inner: Writer, notes: int, fate: Fate) -> None:
        self._inner, self._notes, self._fate = inner, notes, fate

    @property
    def epoch(self) -> int:
        return self._inner.epoch

    @property
    def glance(self) -> float | None:
        return self._inner.glance

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        self._fate.reach("before", len(lines))
        self._fate.reach("amid", len(lines))
        with self._fate.working():
            written = await self._inner.append(*lines)
        self._fate.reach("after", len(lines))
        os.write(self._notes, "".join(f"{noted(each)}\n" for each in written).encode())
        return written

    async def renew(self) -> int:
        with self._fate.working():
            return await self._inner.renew()

    async def release(self) -> None:
        with self._fate.working():
            await self._inner.release()


def noted(recorded: Recorded) -> str:
    """A Fact in a line that no other has."""
    return f"{recorded.seq} {zlib.crc32(encode(recorded))}"
