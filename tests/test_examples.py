"""The examples run as they stand, offline, and print what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PRINTED = {
    "01_goal_to_answer": [
        "started  Lyon",
        '  used   population {"city":"Lyon"}',
        "started  Nice",
        '  used   population {"city":"Nice"}',
        "ended    Lyon -> 522,250 people.",
        "ended    Nice -> 348,085 people.",
        "Lyon is larger than Nice by 174,165 people.",
        "achieved; 7 model calls, 105 tokens",
    ],
}


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_prints_what_it_promises(name: str) -> None:
    """A fresh interpreter runs the file, and its output is the one that is written down."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": str(ROOT)},
        check=False,
    )

    assert ("", PRINTED[name]) == (ran.stderr, ran.stdout.splitlines())


def test_every_example_is_run() -> None:
    """No example is left out."""
    assert {path.stem for path in (ROOT / "examples").glob("[0-9]*.py")} == set(PRINTED)
