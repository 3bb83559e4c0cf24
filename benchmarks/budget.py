"""Whether limits hold: fifty branches side by side, and a hundred requests for all of the run.

    python benchmarks/budget.py [--seeds 20] [--kills 2]

The planner makes fifty steps of two to four requests each, on a model that is slow, turns requests away, breaks off and can't be
reached now and then; verdict and answer are to be paid for, too. Every seed lives once undisturbed, and once with its process
killed so often, from what it had written down by then. Time is virtual. Exits with 1 when a run makes more than 100 requests, an
undisturbed one less than 97, one has no answer or does not say what is missing, or its books are wrong.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.backends import backend
from tests.budgets.crowd import Seen, lived


def seen(seeds: int, kills: int) -> Iterator[tuple[int, Seen]]:
    """Every seed, undisturbed and then killed."""
    name, options = backend("asyncio", virtual=True)
    for seed in range(seeds):
        for often in (0, kills):
            yield seed, anyio.run(_lived, seed, often, backend=name, backend_options=options)


async def _lived(seed: int, kills: int) -> Seen:
    return await lived(seed, kills=kills)


def table(rows: Sequence[tuple[int, Seen]]) -> Table:
    shown = Table("seed", "killed", "requests", "counted", "succeeded", "missing", "answer", "verdict")
    for seed, row in rows:
        answer = row.answer
        budget = None if answer is None else answer.summary.budget
        shown.add_row(
            str(seed),
            str(row.killed),
            str(row.sent),
            "-" if budget is None else str(budget.spent.requests),
            "-" if answer is None else str(answer.summary.succeeded),
            str(len(row.missing)),
            "no" if answer is None or not answer.output else "yes",
            "; ".join(row.faults) or "as it should",
        )
    return shown


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--kills", type=int, default=2)
    args = parser.parse_args()
    rows = list(seen(args.seeds, args.kills))
    Console(width=120).print(table(rows))
    sys.exit(any(row.faults for _, row in rows))
