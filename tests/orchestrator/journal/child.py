"""A process with a journal of its own, which does what it is told line by line, and says what came of it.

python -m tests.orchestrator.journal.child ROLE FILE
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread

from orchestrator import Orchestrator
from orchestrator.errors import RunError
from orchestrator.events.facts import InterruptReceived
from orchestrator.journal.protocol import Writer
from orchestrator.journal.sqlite import SqliteJournal
from registry.testing import ScriptedModel
from registry.tools.function import tool

ROOT = Path(__file__).parents[3]
RUNS, FACTS = 50, 200


def now() -> datetime:
    return datetime.now(UTC)


class Child:
    """The other end, in the test."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def tell(self, order: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, order: str) -> str:
        self.tell(order)
        return self.hear()


@contextmanager
def child(role: str, path: Path) -> Iterator[Child]:
    """A process in this role, with this journal. It is done with by the end of the block, however far it came."""
    command = [sys.executable, "-m", "tests.orchestrator.journal.child", role, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Child(process)
        finally:
            process.kill()


async def told() -> str:
    return await anyio.to_thread.run_sync(sys.stdin.readline)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def write(journal: SqliteJournal) -> None:
    """Claims and writes to the run `r` as it is told."""
    writer: Writer | None = None
    while order := (await told()).split():
        try:
            match order:
                case ["claim", holder, ttl]:
                    writer = await journal.claim("r", holder=holder, ttl=float(ttl))
                    say(f"claimed {writer.epoch}")
                case ["append", text] if writer:
                    (recorded,) = await writer.append((InterruptReceived(text=text), 1.0))
                    say(f"appended {recorded.seq}")
                case ["renew"] if writer:
                    say(f"renewed {await writer.renew()}")
        except RunError as error:
            say(f"{type(error).__name__}: {error}")


async def resume(journal: SqliteJournal) -> None:
    """Resumes the run `r` whenever it is told to. Its one tool says when it is called, and ends when it is told to."""

    @tool(effect="unkeyed")
    async def send() -> str:
        """Send a letter."""
        say("sending")
        return await told()

    orchestrator = Orchestrator(ScriptedModel([]), tools=[send], journal=journal)
    while await told():
        try:
            say((await orchestrator.resume("r")).outcome)
        except RunError as error:
            say(f"{type(error).__name__}: {error}")


async def storm(journal: SqliteJournal) -> None:
    """Writes many runs at once, each named after what it is told."""

    async def run(name: str) -> None:
        writer = await journal.claim(name, holder=name, ttl=60.0)
        for number in range(FACTS):
            await writer.append((InterruptReceived(text=f"{name}:{number}"), float(number)))

    name = (await told()).strip()
    async with anyio.create_task_group() as group:
        for number in range(RUNS):
            group.start_soon(run, f"{name}{number}")
    say("done")


async def main(role: str, path: Path) -> None:
    async with SqliteJournal.open(path, now=now) as journal:
        await {"write": write, "resume": resume, "storm": storm}[role](journal)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]))
