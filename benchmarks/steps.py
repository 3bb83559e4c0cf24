"""What the engine itself costs for a step: pure tools that do nothing, in plans of several shapes, and what plans cost to read.

    python benchmarks/steps.py [--rounds 5] [--most 100000]

CPU of the whole process, threads included, for each step: with the journal in memory, in SQLite, and by a bare loop on asyncio
that counts dependencies and makes a task for each step, in the same run and by turns; each figure is the median of the rounds.
Events are on: each step is four Facts. `wide` is a step, so many that wait for it, and one that waits for all of those; `layered`
has layers of 50, of which each step waits for three of the one before. Exits with 1 above the limits, which are multiples of the
bare loop.
"""

import argparse
import asyncio
import gc
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from orchestrator import MemoryJournal
from orchestrator.executor import DAGExecutor, Settled
from orchestrator.journal.protocol import Journal
from orchestrator.ledger import open_ledger
from orchestrator.ports import Ports
from planner import Plan, Step, ToolStep
from registry.calls import Call
from registry.messages import Reply, Request
from registry.testing import ScriptedModel, asks, says
from registry.tools.function import tool

Needs = list[list[int]]

SEED, WIDTH = 1, 50
READING, READING_LIMIT = 10_000, 1.0
MEMORY_LIMITS = {"10,000 no-op steps": 80.0, "500 agents in flight": 90.0}
LIMITS = {"memory": 26.0, "sqlite": 50.0}
"""Times the bare loop, which fits into the processor's own caches and so hardly feels what else a machine is busy with."""


def wide(steps: int) -> Needs:
    return [[], *([0] for _ in range(steps)), list(range(1, steps + 1))]


def layered(steps: int) -> Needs:
    dice = random.Random(SEED)
    return [
        [] if number < WIDTH else sorted(dice.sample(range(number // WIDTH * WIDTH - WIDTH, number // WIDTH * WIDTH), 3))
        for number in range(steps)
    ]


@tool(effect="pure")
async def nothing(number: int = 0) -> str:  # noqa: ARG001
    """Do nothing."""
    return "done"


def plan(needs: Needs) -> Plan:
    # With arguments of their own: steps that are the same would be done once, and so would calls at the same time.
    steps = (
        ToolStep(id=f"s{number}", tool="nothing", args={"number": number}, depends_on=[f"s{need}" for need in needed])
        for number, needed in enumerate(needs)
    )
    return Plan(goal="Do nothing", steps=tuple(steps))


async def bare(needs: Needs) -> None:
    """The same calls in the same order of dependencies, and nothing else."""
    dependents: list[list[int]] = [[] for _ in needs]
    for number, needed in enumerate(needs):
        for need in needed:
            dependents[need].append(number)
    left, results = [len(needed) for needed in needs], [""] * len(needs)

    async def step(number: int) -> None:
        results[number] = await nothing(number)
        for dependent in dependents[number]:
            left[dependent] -= 1
            if not left[dependent]:
                group.create_task(step(dependent))

    async with asyncio.TaskGroup() as group:
        for number, needed in enumerate(needs):
            if not needed:
                group.create_task(step(number))
    assert all(results)


async def walked(journal: Journal, whole: Plan) -> None:
    ledger = await open_ledger(journal, "run", Ports())
    end = await DAGExecutor(ScriptedModel([]), [nothing], ledger=ledger).walk(whole)
    assert isinstance(end, Settled)
    assert len(end.finished) == len(whole.steps)
    assert sum(1 for _ in ledger.facts) == 4 * len(whole.steps)


async def in_memory(whole: Plan) -> None:
    await walked(MemoryJournal(), whole)


async def in_sqlite(whole: Plan) -> None:
    import tempfile

    from orchestrator.journal.sqlite import SqliteJournal

    with tempfile.TemporaryDirectory() as folder:
        async with SqliteJournal.open(Path(folder) / "journal.db") as journal:
            await walked(journal, whole)


@dataclass(frozen=True)
class Shape:
    name: str
    needs: Needs
    rounds: int
    sqlite: bool


def shapes(rounds: int, most: int) -> Iterator[Shape]:
    for steps in (500, 10_000, 100_000):
        if steps <= most:
            yield Shape(f"wide {steps:,}", wide(steps), rounds if steps <= 10_000 else 1 + rounds // 3, steps <= 10_000)
    yield Shape("layered 1,000", layered(1_000), rounds, sqlite=True)


def cpu(work: Callable[[], Awaitable[None]], steps: int) -> float:
    """Microseconds a step."""

    async def measured() -> float:
        gc.collect()
        began = time.process_time()
        await work()
        return time.process_time() - began

    return asyncio.run(measured()) / steps * 1e6


def medians(shape: Shape) -> dict[str, float]:
    whole, taken = plan(shape.needs), dict[str, list[float]]()
    ways: dict[str, Callable[[], Awaitable[None]]] = {"bare": lambda: bare(shape.needs), "memory": lambda: in_memory(whole)}
    if shape.sqlite:
        ways["sqlite"] = lambda: in_sqlite(whole)
    for _ in range(shape.rounds):
        for name, work in ways.items():
            taken.setdefault(name, []).append(cpu(work, len(shape.needs)))
    return {name: statistics.median(times) for name, times in taken.items()}


def reading() -> float:
    """Seconds of CPU to parse a large plan and to check it, for which its graph is drawn up."""
    from planner.check.known import Known
    from planner.check.whole import check

    written = {
        "goal": "Do nothing",
        "steps": [
            {
                "id": f"s{number}",
                "kind": "tool",
                "tool": "nothing",
                "task": "Do nothing" + "".join(f", knowing ${{steps.s{need}.output}}" for need in needed),
                "depends_on": [f"s{need}" for need in needed],
            }
            for number, needed in enumerate(layered(READING))
        ],
    }
    began = time.process_time()
    read = Plan.model_validate(written)
    found = check(read, Known.of([nothing], {}))
    assert not any(each.severity == "error" for each in found)
    return time.process_time() - began


class Unhurried:
    """A model that takes its time, looks once, and then says so."""

    name, endpoint, context_window = "scripted", "", None

    def __init__(self) -> None:
        self.abilities = {"tool_call": True, "json_mode": True}

    async def chat(self, request: Request, call: Call) -> Reply:  # noqa: ARG002
        await asyncio.sleep(1)
        return says("done") if request.messages[-1].role == "tool" else asks("nothing")


async def many_agents() -> None:
    steps = tuple(Step(id=f"s{number}", task=f"Do nothing, for the {number}th time.") for number in range(500))
    end = await DAGExecutor(Unhurried(), [nothing]).walk(Plan(goal="Do nothing", steps=steps))
    assert isinstance(end, Settled)
    assert len(end.finished) == len(steps)


MEMORY: dict[str, Callable[[], Awaitable[None]]] = {
    "10,000 no-op steps": lambda: in_memory(plan(wide(10_000))),
    "500 agents in flight": many_agents,
}


def peak(what: str) -> float:
    """Megabytes at most of a process that does nothing else. What others need is imported where they need it."""
    told = subprocess.run([sys.executable, __file__, "--peak", what], check=True, capture_output=True, text=True)
    return float(told.stdout)


def main(rounds: int, most: int) -> bool:
    from rich.console import Console
    from rich.table import Table

    table, within = Table("plan", "bare", "memory", "x bare", "sqlite", "x bare", title="CPU a step, us"), True
    console = Console()
    # As long as this process is small: to a child its peak counts as its own.
    for what, limit in MEMORY_LIMITS.items():
        megabytes = peak(what)
        console.print(f"{what}: {megabytes:.0f} MB at most (limit {limit:.0f})")
        within &= megabytes <= limit
    for shape in shapes(rounds, most):
        taken = medians(shape)
        ratios = {name: taken[name] / taken["bare"] for name in taken}
        within &= all(ratios[name] <= LIMITS[name] for name in taken if name in LIMITS)
        cells = [f"{taken[name]:.1f}" if name in taken else "" for name in ("bare", "memory", "sqlite")]
        times = [f"{ratios[name]:.1f}" if name in ratios else "" for name in ("memory", "sqlite")]
        table.add_row(shape.name, cells[0], cells[1], times[0], cells[2], times[1])
    console.print(table)
    seconds = statistics.median(reading() for _ in range(3))
    console.print(f"a plan of {READING:,} steps, parsed and checked: {seconds:.2f} s of CPU (at most {READING_LIMIT})")
    within &= seconds <= READING_LIMIT
    return within


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--peak", choices=MEMORY)
    args = parser.parse_args()
    if args.peak:
        asyncio.run(MEMORY[args.peak]())
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    else:
        sys.exit(0 if main(args.rounds, args.most) else 1)
