"""The lives of one run: processes, one after another, on one journal file and one outside."""

import json
import os
import signal
import traceback
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import anyio

from orchestrator.errors import LeaseLost, RunHeld, UnknownWaiting
from orchestrator.events.recorded import Recorded
from orchestrator.journal.sqlite import SqliteJournal
from orchestrator.run import Answer
from tests.kills.blows import Blow, FatalFolder, FatalJournal, Fate
from tests.scenario import World
from tests.scenarios.outside import Folder
from tests.scenarios.plans import Scenario

RUN = "run1"
PATIENCE = 20
"""Seconds after which a life counts as hung."""

OVERTAKEN, HELD = 75, 76
"""The exit statuses of a process that another has overtaken, with the run or with an answer, and of one that didn't get it."""


@dataclass(frozen=True)
class Site:
    """Where a run takes place: a folder of its own."""

    folder: Path
    scenario: Scenario
    backend: str = "asyncio"

    @classmethod
    def at(cls, folder: Path, scenario: Scenario, backend: str = "asyncio") -> "Site":
        (folder / "outside").mkdir(parents=True)
        return cls(folder, replace(scenario, pace=scenario.pace.times(0.01)), backend)

    @property
    def outside(self) -> Folder:
        return Folder(self.folder / "outside")

    def notes(self) -> list[str]:
        """What was acknowledged, whoever wrote it."""
        return self._notes.read_text().splitlines()

    def found(self, life: int) -> int:
        """How many Facts were there when this process began, 0 if it didn't get as far as to see."""
        return int(self._found(life).read_text() or 0) if self._found(life).exists() else 0

    @property
    def answer(self) -> object:
        """The gist of the answer that a process came to."""
        return json.loads((self.folder / "answer").read_text())

    def known(self) -> Sequence[Recorded]:
        """What the journal holds."""

        async def read() -> Sequence[Recorded]:
            async with self._journal() as journal:
                return await journal.read(RUN) if await journal.runs() else ()

        return anyio.run(read)

    def begin(self, life: int, blow: Blow | None = None, *, ttl: float | None = None) -> int:
        """Start a process that lives one life of the run, and return its id."""
        process = os.fork()
        if process == 0:
            signal.alarm(PATIENCE)
            os._exit(self.live(life, blow, ttl))
        return process

    def live(self, life: int, blow: Blow | None = None, ttl: float | None = None) -> int:
        """Take the run as far as the blow lets it, and return an exit status."""
        try:
            answer = anyio.run(self._to_the_end, life, blow, ttl, backend=self.backend)
        except (LeaseLost, UnknownWaiting):
            return OVERTAKEN
        except RunHeld:
            return HELD
        except BaseException:  # noqa: BLE001 (a process must not end as the one that it was forked from)
            traceback.print_exc()
            return 1
        (self.folder / "answer").write_text(json.dumps(gist(answer)))
        return 0

    async def _to_the_end(self, life: int, blow: Blow | None, ttl: float | None) -> Answer:
        fate = Fate(blow)
        world = World(self.scenario, FatalFolder(self.folder / "outside", life, fate))
        async with self._journal() as journal:
            found = sum(listed.facts for listed in await journal.runs())
            self._found(life).write_text(str(found))
            fatal = FatalJournal(journal, self._notes, fate, ttl=ttl)
            return await world.live(fatal, RUN if found else None, holder=f"life {life}")

    @property
    def _notes(self) -> Path:
        return self.folder / "acknowledged"

    def _found(self, life: int) -> Path:
        return self.folder / f"found-{life}"

    def _journal(self) -> AbstractAsyncContextManager[SqliteJournal]:
        path = self.folder / "journal.db"
        return SqliteJournal.open(path, now=lambda: datetime.now(UTC), synchronous="normal")


def gist(answer: Answer) -> list[object]:
    """All that a user can see of a run, but for what it took."""
    steps = [[name, end.kind, getattr(end, "output", "")] for name, end in answer.steps.items()]
    return [answer.output, answer.outcome, [step.id for step in answer.plan.steps], steps]
