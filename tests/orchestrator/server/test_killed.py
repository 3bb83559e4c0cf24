"""A server is killed with runs under way, and started again."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from orchestrator.events.facts import ModelReplied
from orchestrator.journal.sqlite import SqliteJournal
from tests.backends import Backend, backend
from tests.orchestrator.server.guard.house import HARBOUR, HOST

pytestmark = [pytest.mark.anyio, pytest.mark.real_clock]

ROOT = Path(__file__).parents[3]


@pytest.fixture
def anyio_backend() -> Backend:
    """What uvicorn needs."""
    return backend("asyncio", virtual=False)


@contextmanager
def process(folder: Path, seconds: float) -> Iterator[tuple["subprocess.Popen[str]", httpx.AsyncClient]]:
    """A server on the journal of the folder, each step of whose runs takes so many seconds; killed at the end at the latest."""
    files = (str(folder / "j.sqlite3"), str(folder / "asked"))
    command = [sys.executable, "-m", "tests.orchestrator.server.process", *files, str(seconds)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = f"http://127.0.0.1:{int(server.stdout.readline())}"
            yield server, httpx.AsyncClient(base_url=address, headers={"host": HOST, "authorization": f"Bearer {HARBOUR}"})
        finally:
            server.kill()


async def test_killed_with_three_runs_under_way(tmp_path: Path) -> None:
    """All three end in the next process, and no call that was answered is made again."""
    with process(tmp_path, 30) as (server, client):
        async with client:
            runs = [(await client.post("/v1/runs", json={"goal": str(number)})).json()["id"] for number in range(3)]
            for run in runs:
                await until_a_step_runs(client, run)
        server.kill()
        server.wait()
    with process(tmp_path, 0) as (_, client):
        async with client:
            for run in runs:
                await client.get(f"/v1/runs/{run}/events", timeout=20)
            states = [(await client.get(f"/v1/runs/{run}")).json()["state"] for run in runs]

    assert ["achieved"] * 3 == states
    answered = Counter((tmp_path / "asked").read_text().splitlines())
    assert [] == [call for call, times in answered.items() if times > 1]
    async with SqliteJournal.open(tmp_path / "j.sqlite3") as journal:
        for run in runs:
            replies = [recorded.event for recorded in await journal.read(run) if isinstance(recorded.event, ModelReplied)]
            assert 5 == len(replies)


async def until_a_step_runs(client: httpx.AsyncClient, run: str) -> None:
    async with client.stream("GET", f"/v1/runs/{run}/events", timeout=20) as response:
        async for line in response.aiter_lines():
            if '"event":"started"' in line:
                return
