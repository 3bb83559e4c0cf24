"""dagwright on the shared DAG shapes, beside a bare asyncio loop and other frameworks, in one run on one machine.

    BENCH=<folder of harness.py> [BENCH_WORK=<folder with venvs/>] python benchmarks/cases.py [--rounds 3] [--cases noop_wide500]

Every figure is the median of interleaved rounds, each in a fresh process that is pinned to core 0; the mock model server has
core 1. Events are on and the journal is in memory. CPU is for a step; a makespan is told as a multiple of the longest path that
there is, with the time off in which the process was ready and other load had its core. "raw" is a hand-written HTTP client under
a loop that counts dependencies, "aiohttp" the same over aiohttp. Of the others those are run that $BENCH_WORK has. Exits with 1
when a figure of ours is above its limit. A limit was stated beside what one of the floors took: where that takes longer in this
run, for the machine is slower or busier, so may ours, in proportion.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BENCH = Path(os.environ.get("BENCH", ""))
WORK = Path(os.environ.get("BENCH_WORK", ""))
URL = "http://127.0.0.1:{port}/v1"
OURS = "dagwright"
ROUND_SECONDS = 180


@dataclass(frozen=True, slots=True)
class Case:
    """A DAG and what its steps do, as the runners are told it, and the most that our figure may be."""

    arguments: str
    figure: str
    most: float
    beside: tuple[str, float] | None = None
    """The floor and its figure that the limit was stated beside."""
    rounds: int = 99
    alone: bool = False
    """Whether other frameworks are spared: they would take minutes."""


CPU, MAKESPAN, MEMORY = "cpu_us_per_step", "net_ratio", "rss_mb"
NOOP_FLOOR, AGENT_FLOOR = ("raw", 5.3), ("aiohttp", 203.0)
CASES: Mapping[str, Case] = {
    "noop_wide500": Case("--mode noop --shape wide --n 500", CPU, 25, NOOP_FLOOR),
    "noop_wide10000": Case("--mode noop --shape wide --n 10000", CPU, 25, NOOP_FLOOR, rounds=2),
    "noop_wide100000": Case("--mode noop --shape wide --n 100000", CPU, 25, NOOP_FLOOR, rounds=1, alone=True),
    "agent_layered1000": Case("--mode agent --k 1 --shape layered --n 1000", CPU, 800, AGENT_FLOOR),
    "lat50_wide500": Case("--mode agent --k 1 --shape wide --n 500 --latency-ms 50", MAKESPAN, 3, ("raw", 1.25)),
    "lat1000_wide500": Case("--mode agent --k 1 --shape wide --n 500 --latency-ms 1000", MAKESPAN, 1.08, ("raw", 1.01)),
    "lat50j_layered300": Case(
        "--mode agent --k 1 --shape layered --n 300 --latency-ms 50 --jitter 1", MAKESPAN, 1.04, ("raw", 1.003)
    ),
    "lat50_chain100": Case("--mode llm --shape chain --n 100 --latency-ms 50", MAKESPAN, 1.035, ("raw", 1.014)),
    "memory_agent_wide500": Case("--mode agent --k 1 --shape wide --n 500 --latency-ms 1000", MEMORY, 90),
    "memory_noop_wide10000": Case("--mode noop --shape wide --n 10000", MEMORY, 80, rounds=2),
}

PEERS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "raw": ("core", "peer_asyncio.py", ("--client", "raw")),
    "aiohttp": ("core", "peer_asyncio.py", ("--client", "aiohttp")),
    "langgraph": ("langgraph", "peer_langgraph.py", ()),
    "agent_framework": ("agent_framework", "peer_agent_framework.py", ()),
    "pydantic_ai": ("pydantic_ai", "peer_pydantic_ai.py", ()),
    "agno": ("agno", "peer_agno.py", ()),
}
"""The environment, the runner and what it is told besides. The first two are what there is to be reached."""

FLOORS = tuple(PEERS)[:2]


def command(who: str) -> list[str] | None:
    """How one of them is run. None where it isn't installed."""
    if who == OURS:
        return [sys.executable, str(HERE / "peer_ours.py")]
    venv, script, more = PEERS[who]
    python = WORK / "venvs" / venv / "bin" / "python"
    return [str(python), str(BENCH / script), *more] if python.exists() else None


def told(who: str, case: Case, url: str) -> dict[str, float] | None:
    """What one run says of itself. None where it failed, or took too long."""
    start = command(who)
    assert start is not None
    run = ["taskset", "-c", "0", *start, *case.arguments.split(), "--url", url]
    try:
        ran = subprocess.run(run, capture_output=True, text=True, timeout=ROUND_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    found = json.loads(lines[-1]) if lines else {}
    return found if found.get("ok") else None


def measured(case: Case, rounds: int, url: str) -> dict[str, float]:
    """The median figure of each that is here and got to the end. A peer has no part in a case without calls if it has none."""
    taken: dict[str, list[float]] = {}
    here = [who for who in (OURS, *PEERS) if command(who) is not None and (who in (OURS, *FLOORS) or not case.alone)]
    failed: set[str] = set()
    for _ in range(min(rounds, case.rounds)):
        for who in here:
            found = None if who in failed else told(who, case, url)
            if found is None:
                failed.add(who)
            else:
                taken.setdefault(who, []).append(found[case.figure])
    return {who: statistics.median(figures) for who, figures in taken.items()}


def limit(case: Case, figures: Mapping[str, float]) -> float:
    """The most that ours may be beside what the floor is in this run. Of a makespan only what is above 1 is compared."""
    if case.beside is None or case.beside[0] not in figures:
        return case.most
    floor, ideal = case.beside, 1.0 if case.figure == MAKESPAN else 0.0
    slower = (figures[floor[0]] - ideal) / (floor[1] - ideal)
    return ideal + (case.most - ideal) * max(1.0, slower)


def line(name: str, case: Case, figures: Mapping[str, float]) -> tuple[str, bool]:
    """A row of the table, and whether ours is within the limit."""
    mine = figures.get(OURS)
    cells = [f"{who} {figure:,.1f}" if case.figure != MAKESPAN else f"{who} {figure:.3f}" for who, figure in figures.items()]
    most = limit(case, figures)
    kept = mine is not None and mine <= most
    times = [f"{figures[who] / mine:.1f} x" for who in figures if mine and who not in (OURS, *FLOORS)]
    verdict = "" if kept else "   ABOVE" if mine is not None else "   NO RESULT"
    return f"{name:22} {case.figure:16} at most {most:<6.4g} {'   '.join(cells)}   {' '.join(times)}{verdict}", kept


@contextmanager
def mock_server(port: int) -> Iterator[str]:
    """The base URL of the mock model server, which has the other core."""
    server = subprocess.Popen(["taskset", "-c", "1", sys.executable, BENCH / "mock_server.py", "--port", str(port)])
    try:
        url = URL.format(port=port)
        for _ in range(100):
            try:
                urllib.request.urlopen(url.removesuffix("/v1") + "/stats", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--port", type=int, default=8917)
    args = parser.parse_args()
    if not (BENCH / "harness.py").exists():
        parser.error("$BENCH must name the folder of harness.py")
    missing = [who for who in PEERS if command(who) is None]
    print(f"not installed: {', '.join(missing) or 'none'}", flush=True)
    within = True
    with mock_server(args.port) as url:
        for name in args.cases.split(","):
            row, kept = line(name, CASES[name], measured(CASES[name], args.rounds, url))
            print(row, flush=True)
            within = within and kept
    return int(not within)


if __name__ == "__main__":
    sys.exit(main())
