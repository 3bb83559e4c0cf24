"""What importing the library costs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = "from orchestrator import Orchestrator"
ROUNDS = 5
MOST = 4.0
"""Times `import asyncio`."""


def seconds(code: str, cache: Path) -> float:
    """CPU of a fresh process that does this and nothing else."""
    # With a cache of its own, so that nothing is compiled but in the first round.
    child = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env={"PYTHONPYCACHEPREFIX": str(cache)})
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert 0 == child.returncode
    return used.ru_utime + used.ru_stime


@pytest.mark.real_clock
def test_importing_it_takes_no_time(tmp_path: Path) -> None:
    """It takes a few times as long as importing asyncio, whatever else the machine is busy with."""
    rounds = [(seconds("import asyncio", tmp_path), seconds(LIBRARY, tmp_path)) for _ in range(1 + ROUNDS)][1:]
    floor, library = (min(times) for times in zip(*rounds, strict=True))

    assert library < MOST * floor


def test_what_a_run_needs_is_imported_when_one_begins() -> None:
    """No event loop, no graph, no other heavy library comes with it, and nothing that does the steps of a run."""
    outside = ("asyncio", "networkx", "httpx", "aiohttp", "jsonschema", "structlog", "yaml", "sqlite3", "importlib.metadata")
    inside = ("orchestrator.story", "orchestrator.agent", "planner.planning", "planner.analyzer", "registry.structured.calls")
    code = f"{LIBRARY}; import sys; print([name for name in {(*outside, *inside)!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "[]" == ran.stdout.strip()


POSTING = """
import asyncio, sys
from registry.http import HttpDoor

async def answer(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok")
    writer.close()

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with HttpDoor() as door:
        answered = await door.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", {})
    print(answered.body.decode(), "httpx" in sys.modules)

asyncio.run(main())
"""


@pytest.mark.real_clock
def test_a_model_on_this_machine_needs_one_library() -> None:
    """Over plain HTTP on asyncio all is done by aiohttp: httpx would take a tenth of a program's start."""
    ran = subprocess.run([sys.executable, "-c", POSTING], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "ok False" == ran.stdout.strip()
