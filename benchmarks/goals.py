"""Whether the smallest of models gets through: ten goals, each planned, done and answered by the embedded one.

    python benchmarks/goals.py [--patience 900] [--first 10]

Says for each goal how it ended, after how long, and what the checker found and mended in its plans. Exit 1 when one ended in
anything but an answer or a clear error.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

GOALS = (
    "Name three rivers of Europe and say where each ends.",
    "What is 17 * 23, and is it larger than 400?",
    "Plan a birthday party for a child of six.",
    "Explain to a beginner why the sky is blue and the sunset red.",
    "Compare tea and coffee, and recommend one for the evening.",
    "Schreibe zwei Sätze über den Winter.",
    "List the files in this folder and say what they might be for.",
    "Write a haiku about a harbour, and then explain it.",
    "What day is it today, and how many days are left in the year?",
    "Summarise the story of Cinderella in three sentences, and give it another ending.",
)


def ended(goal: str, patience: float) -> tuple[bool, str]:
    """Whether the run ended as it should, and a line that tells how."""
    began = time.perf_counter()
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "orchestrator", "run", goal, "--model", "local", "--json"],
            capture_output=True,
            text=True,
            cwd=ROOT / "examples",
            env={**os.environ, "DAGWRIGHT_JOURNAL": ":memory:", "PYTHONPATH": str(ROOT)},
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"did not end within {patience:g} s"
    seconds = time.perf_counter() - began
    events = list(said(ran.stdout))
    answers = [event["answer"] for event in events if event.get("answer")]
    clear = bool(answers) or "dagwright: " in ran.stderr
    bug = "Traceback" in ran.stderr or "a bug in dagwright" in ran.stderr
    told = " ".join((answers[-1] if answers else ran.stderr.strip().rpartition("\n")[2]).split())[:100]
    return clear and not bug, f"exit {ran.returncode} after {seconds:.0f} s; {found(events)}; {told}"


def said(lines: str) -> Iterator[Mapping[str, Any]]:
    """What the run told programs."""
    for line in lines.splitlines():
        yield json.loads(line)["event"]


def found(events: list[Mapping[str, Any]]) -> str:
    """How often each code came, by what it was."""
    counts = Counter(f"{each['code']} {each['severity']}" for event in events for each in event.get("diagnostics", ()))
    return ", ".join(f"{code} x {count}" if count > 1 else code for code, count in sorted(counts.items())) or "nothing to mend"


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--patience", type=float, default=900.0, help="seconds for one goal")
    arguments.add_argument("--first", type=int, default=len(GOALS), help="only so many goals")
    asked = arguments.parse_args()
    wrong = 0
    for goal in GOALS[: asked.first]:
        well, told = ended(goal, asked.patience)
        wrong += not well
        print(f"{'ok   ' if well else 'WRONG'} {goal}\n      {told}", flush=True)
    print(f"{wrong} of {min(asked.first, len(GOALS))} ended in anything but an answer or a clear error")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
