"""`dagwright serve` as a process of its own, as users start it."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
TOKEN = "served-" + "t" * 32
PATIENCE = 60.0
"""Seconds after which whatever is waited for counts as never coming."""


@dataclass(frozen=True)
class Server:
    """A server that listens."""

    process: "subprocess.Popen[str]"
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self) -> httpx.Client:
        """Asks it with its token."""
        return httpx.Client(base_url=self.url, headers={"authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE, trust_env=False)


@contextmanager
def served(
    folder: Path, *arguments: str, program: str = "orchestrator", port: int = 0, environ: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """A server with its journal in the folder, and nothing in its environment but what is given. It is killed in the end."""
    command = [sys.executable, "-m", program, "serve", "--port", str(port), *arguments]
    own = {"PYTHONPATH": str(ROOT), "DAGWRIGHT_TOKEN": TOKEN, "DAGWRIGHT_JOURNAL": str(journal_in(folder)), **(environ or {})}
    with subprocess.Popen(command, cwd=folder, env=own, text=True, stderr=subprocess.PIPE) as process:
        try:
            yield Server(process, _address(process))
        finally:
            process.kill()


def journal_in(folder: Path) -> Path:
    """The journal of the servers of a folder."""
    return folder / "journal.sqlite3"


def until(there: Callable[[], bool]) -> None:
    """Wait for something that happens in another process."""
    last = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < last, f"{there} did not come true"
        time.sleep(0.01)


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if "serving on " in line:
            return line.split()[-1]
    raise RuntimeError(f"it does not serve; it said {said!r}")
