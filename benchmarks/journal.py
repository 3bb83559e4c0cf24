"""What it costs to write a run down: CPU for each model call, time to resume, bytes on disk.

    python benchmarks/journal.py [--runs 50] [--steps 20] [--rounds 7]

The same scripted runs, side by side, with a journal that keeps nothing, in memory, and in SQLite. CPU is that of the whole
process, threads and system calls included; each figure is the median of interleaved rounds. Each step makes two model calls and
one tool call, and a model takes 10 ms to answer. `--profile` says where the CPU of the SQLite runs goes on the loop's thread.
"""

import argparse
import cProfile
import gc
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[1]))

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import WHOLE_RUN, Journal, Line, Listed
from orchestrator.journal.schema import open_database
from orchestrator.journal.sqlite import SqliteJournal
from planner import Plan, Step
from registry.calls import Call
from registry.messages import Reply, Request
from registry.testing import asks, says
from registry.tools.function import tool

CALLS_A_STEP = 2
SIZES = (100, 1_000, 10_000)
FINDING = "What this step found, in a sentence or two, as a model would write it down for the steps that come after it. " * 4


class KeepsNothing:
    """A journal that only numbers what it gets: what a run costs when nobody writes it down."""

    glance, epoch = None, 1

    def __init__(self) -> None:
        self._last = 0

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> "KeepsNothing":  # noqa: ARG002
        writer = KeepsNothing()
        writer._run = run
        return writer

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        first, self._last = self._last + 1, self._last + len(lines)
        return tuple(Recorded(seq=seq, time=at, run=self._run, event=fact) for seq, (fact, at) in enumerate(lines, first))

    async def renew(self) -> int:
        return self._last

    async def release(self) -> None:
        pass

    async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:  # noqa: ARG002
        return ()

    async def runs(self) -> tuple[Listed, ...]:
        return ()

    async def durations(self, keys: Iterable[str], *, prefix: str = "") -> dict[str, tuple[float, ...]]:  # noqa: ARG002
        return {}

    async def forget(self, run: str) -> None:
        pass


class Unhurried:
    """A model that looks something up, and then says what it found."""

    name, endpoint, context_window = "scripted", "", None

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.abilities = {"tool_call": True, "json_mode": True}

    async def chat(self, request: Request, call: Call) -> Reply:
        await anyio.sleep(self._seconds)
        return says(FINDING) if request.messages[-1].role == "tool" else asks("look", what=call.label)


@tool(effect="pure")
async def look(what: str) -> str:
    """Look something up."""
    return f"{what}: {FINDING}"


def plan(steps: int) -> Plan:
    every = tuple(Step(id=f"s{number}", task=f"Look up number {number}, and say what it is.") for number in range(steps))
    return Plan(goal="Look things up", steps=every, output="${steps.s0.output}")


def orchestrator(journal: Journal, seconds: float = 0.0) -> Orchestrator:
    return Orchestrator(Unhurried(seconds), tools=[look], journal=journal)


def now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def in_memory(_: Path) -> AsyncIterator[Journal]:
    yield MemoryJournal()


@asynccontextmanager
async def nowhere(_: Path) -> AsyncIterator[Journal]:
    yield KeepsNothing()


def in_sqlite(folder: Path) -> AbstractAsyncContextManager[SqliteJournal]:
    return SqliteJournal.open(folder / "journal.db", now=now)


JOURNALS = {"none": nowhere, "memory": in_memory, "sqlite": in_sqlite}


async def cpu(name: str, runs: int, steps: int) -> float:
    """Seconds of CPU for so many runs at once."""
    with tempfile.TemporaryDirectory() as folder:
        async with JOURNALS[name](Path(folder)) as journal:
            lookups, whole = orchestrator(journal, 0.01), plan(steps)
            gc.collect()
            began = time.process_time()
            async with anyio.create_task_group() as group:
                for _ in range(runs):
                    group.start_soon(lookups.run, whole)
            return time.process_time() - began


async def resumed(steps: int) -> tuple[float, int]:
    """Seconds to resume a run whose steps are all done, opening the journal included; and how many Facts it has."""
    with tempfile.TemporaryDirectory() as folder:
        async with in_sqlite(Path(folder)) as journal:
            ended = await orchestrator(journal).run(plan(steps))
            *facts, _ = await journal.read(ended.run_id)
            writer = await journal.claim("cut", holder="before", ttl=60)
            await writer.append(*((recorded.event, recorded.time) for recorded in facts))
        began = time.perf_counter()
        async with in_sqlite(Path(folder)) as journal:
            answer = await orchestrator(journal).resume("cut")
        seconds = time.perf_counter() - began
        assert answer.summary.reused >= steps
        return seconds, len(facts)


async def size(steps: int) -> int:
    """Bytes on disk of a run of so many steps."""
    with tempfile.TemporaryDirectory() as folder:
        async with in_sqlite(Path(folder)) as journal:
            await orchestrator(journal).run(plan(steps))
        return (Path(folder) / "journal.db").stat().st_size


async def opened(megabytes: int) -> float:
    """Seconds to open a journal of this size, which looks through all of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        database = open_database(path, "normal")
        numbers = range(megabytes * 1_000)
        rows = ((number // 200, number, 1.0, "kind", f"key/{number}", None, 1, 1, b"x" * 800) for number in numbers)
        database.execute("BEGIN")
        database.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        database.execute("COMMIT")
        database.close()
        began = time.perf_counter()
        open_database(path, "normal").close()
        return time.perf_counter() - began


async def main(runs: int, steps: int, rounds: int) -> None:
    taken: dict[str, list[float]] = {}
    for _ in range(rounds + 1):  # the first round only warms up
        for name in JOURNALS:
            taken.setdefault(name, []).append(await cpu(name, runs, steps) / (runs * steps * CALLS_A_STEP) * 1e6)
    medians = {name: statistics.median(spent[1:]) for name, spent in taken.items()}
    floor = medians["none"]
    for name, spent in medians.items():
        print(f"{name:8} {spent:7.1f} us CPU a model call  {spent / floor:5.3f} x none  added {spent - floor:6.1f} us")
    seconds, facts = await resumed(1_000)
    print(f"resume of 1,000 finished steps ({facts:,} Facts): {seconds * 1e3:.0f} ms")
    for number in SIZES:
        whole = await size(number)
        print(f"{number:6,} steps: {whole / 1e6:7.2f} MB on disk, {whole / number:6.0f} bytes a step")
    for megabytes in (10, 100):
        print(f"opening {megabytes:4} MB: {await opened(megabytes) * 1e3:.0f} ms")


async def profiled(runs: int, steps: int) -> None:
    profile = cProfile.Profile()
    profile.enable()
    await cpu("sqlite", runs, steps)
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    if args.profile:
        anyio.run(profiled, args.runs, args.steps)
    else:
        anyio.run(main, args.runs, args.steps, args.rounds)
