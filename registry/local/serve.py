"""Lends the embedded model for the length of a block: a child process that serves it, and never outlives the block."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from registry.errors import DagwrightError
from registry.local.weights import find_weights

WINDOW = 8192
"""Tokens of one request and its reply: all that the model was trained for."""

SLOTS = 2
"""Requests that are answered side by side; further ones queue in the server."""

START_UP = 60.0
"""Seconds within which the server must be ready; it takes about one."""

_GRACE = 3.0
_LONGEST_LINE = 4096
_TAIL = 2000
_CHILD = Path(__file__).with_name("child.py")


class LocalModelFailed(DagwrightError):
    """The embedded model's server did not start. `log` is the end of what it wrote."""

    def __init__(self, why: str, log: str) -> None:
        super().__init__(f"the embedded model did not start: {why}" + (f"; its last words:\n{log}" if log else ""))
        self.why, self.log = why, log


@asynccontextmanager
async def local_server(*, weights: Path | None = None, start_up: float = START_UP) -> AsyncIterator[str]:
    """The base URL, ending in /v1, of a server that runs until the block is left, however it is left.

    `weights` is the model's file, None for the installed one. `start_up` is seconds.
    Raises `ConfigurationError` when a part is not installed, `LocalModelFailed` when the server does not get ready.
    """
    # -P: no module of the folder that the user works in takes the place of an installed one.
    command = [sys.executable, "-P", str(_CHILD), str(weights or find_weights()), str(WINDOW), str(SLOTS)]
    with TemporaryFile() as log:
        # The child ends when its stdin does, and we alone hold the other end. Linux's "signal me when my parent dies" is
        # no second belt: it means the thread that started the child, and trio lets that thread go after ten idle seconds.
        process = await anyio.open_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        try:
            yield await _ready(process, log, start_up) + "/v1"
        finally:
            await _end(process)


async def _ready(process: Process, log: IO[bytes], start_up: float) -> str:
    """The URL that the child announces."""
    assert process.stdout is not None
    try:
        with anyio.fail_after(start_up):
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", _LONGEST_LINE)
    except TimeoutError:
        raise LocalModelFailed(f"it was not ready within {start_up:g} s", _tail(log)) from None
    except (anyio.IncompleteRead, anyio.DelimiterNotFound):
        with anyio.move_on_after(_GRACE):  # its last words come behind the end of its output
            await process.wait()
        raise LocalModelFailed("it ended before it was ready", _tail(log)) from None
    return str(json.loads(line)["url"])


async def _end(process: Process) -> None:
    """Terminates and reaps the child; one that does not listen is killed. Cancellation waits for this."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.terminate()
        with anyio.move_on_after(_GRACE):
            await process.wait()
        if process.returncode is None:
            process.kill()
        await process.aclose()


def _tail(log: IO[bytes]) -> str:
    """The end of what the child wrote to stderr so far."""
    size = log.seek(0, 2)
    log.seek(max(0, size - _TAIL))
    return log.read().decode("utf-8", "replace").strip()
