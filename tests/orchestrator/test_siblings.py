"""A user's own `registry.py` must not be taken for dagwright's."""

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.siblings import shadowed

ROOT = Path(__file__).parents[2]


def test_nothing_is_hidden_here() -> None:
    """All three packages lie side by side."""
    assert shadowed() is None


@pytest.mark.parametrize("name", ["registry.py", "planner.py", "planner/__init__.py"])
def test_the_file_in_front_is_named(name: str, tmp_path: Path) -> None:
    """`python -m` looks into the working folder first: one sentence names the file there, and nothing of it runs."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("raise SystemExit('ran')")

    ended = subprocess.run(
        [sys.executable, "-m", "orchestrator", "--help"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (2, "") == (ended.returncode, ended.stdout)
    assert ended.stderr.startswith(f"dagwright: {tmp_path / name} hides dagwright's own package")
    assert len(ended.stderr.splitlines()) == 1
