"""registry.local.serve: a real model in a child process that never outlives its block, nor its parent."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from registry.errors import ConfigurationError
from registry.local.serve import LocalModelFailed, local_server
from registry.local.weights import find_weights
from tests.backends import Backend

pytestmark = [pytest.mark.anyio, pytest.mark.real_clock]

ROOT = Path(__file__).parents[3]
PARENT = """
import sys
import anyio
from registry.local.serve import local_server

async def main():
    async with local_server() as url:
        sys.stdout.write(url + "\\n")
        sys.stdout.flush()
        await anyio.sleep_forever()

anyio.run(main, backend=sys.argv[1])
"""


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    """These tests need the engine and the weights, which scripts/setup installs."""
    try:
        find_weights()
    except ConfigurationError as missing:
        pytest.skip(str(missing))


def children() -> set[int]:
    """The processes that this one has started and not yet reaped."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            _, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid():
                found.add(int(stat.parent.name))
    return found


async def listens(url: str) -> bool:
    """Whether anybody answers at the address."""
    address = urlsplit(url)
    try:
        await (await anyio.connect_tcp(address.hostname or "", address.port or 0)).aclose()
    except OSError:
        return False
    return True


async def test_a_chat_is_answered_and_nothing_remains() -> None:
    """The server answers in the shape of chat completions; after the block its port is free and its process reaped."""
    before = children()
    request = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 5, "temperature": 0}

    async with local_server() as url, httpx.AsyncClient() as client:
        answer = await client.post(f"{url}/chat/completions", json=request)

    choice = answer.json()["choices"][0]
    assert ("length", True) == (choice["finish_reason"], bool(choice["message"]["content"]))
    assert 5 == answer.json()["usage"]["completion_tokens"]
    assert not await listens(url)
    assert before == children()


async def test_cancellation_ends_the_child() -> None:
    """A block that is cancelled leaves no process behind."""
    before = children()

    with anyio.CancelScope() as scope:
        async with local_server() as url:
            scope.cancel()
            await anyio.sleep_forever()

    assert scope.cancelled_caught
    assert not await listens(url)
    assert before == children()


async def test_ctrl_c_and_the_folder_of_the_user_do_not_reach_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules in the working folder shadow nothing, and an interrupt from the terminal is left to the parent."""
    for name in ("registry", "xllamacpp", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    monkeypatch.chdir(tmp_path)
    before = children()

    async with local_server() as url:
        (child,) = children() - before
        os.kill(child, signal.SIGINT)
        async with httpx.AsyncClient() as client:
            assert 200 == (await client.get(f"{url}/models")).status_code
        assert {child} == children() - before


async def test_a_killed_parent_takes_the_child_along(anyio_backend: Backend) -> None:
    """When the parent dies without a chance to clean up, the child ends within three seconds."""
    command = [sys.executable, "-c", PARENT, anyio_backend[0]]
    async with await anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=None, cwd=ROOT) as parent:
        assert parent.stdout is not None
        url = (await BufferedByteReceiveStream(parent.stdout).receive_until(b"\n", 200)).decode()
        assert await listens(url)
        parent.kill()
        with anyio.fail_after(3):
            while await listens(url):
                pass


async def test_a_child_that_fails_says_why(tmp_path: Path) -> None:
    """Weights that are none end the start-up at once, and the error carries what the engine said."""
    before = children()
    weights = tmp_path / "broken.gguf"
    weights.write_text("not a model")

    with pytest.raises(LocalModelFailed, match="ended before it was ready") as error:
        async with local_server(weights=weights):
            pytest.fail("there is no such model")

    assert "failed to load model" in error.value.log
    assert before == children()


async def test_the_wait_for_the_start_is_bounded() -> None:
    """A server that is not ready in time is ended, and the error says how long it had."""
    before = children()

    with pytest.raises(LocalModelFailed, match="not ready within 0 s"):
        async with local_server(start_up=0):
            pytest.fail("nothing starts in no time")

    assert before == children()
