"""Child processes for tools: none outlives the call that started it. For POSIX systems.

    @tool(effect="pure", timeout=30)
    async def count_lines(path: str) -> str:
        "Count the lines of a file."
        ended = await run_child(["wc", "-l", "--", path])
        if ended.code:
            raise ToolFailed("count_lines", ended.errors)
        return ended.output

The command is a list of arguments and no shell reads it, so that nothing in an argument is ever taken for a command.
"""

import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process
from msgspec import Struct

MOST_BYTES = 1_000_000
"""How much is kept of each of the two streams. What comes after it is read and dropped, so that the child isn't held up."""

GRACE = 1.0
"""Seconds between asking a child to end and making it."""


class Ended(Struct, frozen=True, kw_only=True):
    """How a child ended: its exit code, negative for the signal that ended it, and what it wrote to its two streams."""

    code: int
    output: str
    errors: str


async def run_child(
    command: Sequence[str],
    *,
    given: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program to its end, with `given` as its input. `env` is its whole environment, None for our own.

    The child leads a process group of its own. When the call ends, in whatever way, the group is asked to end and after `GRACE`
    made to; a cancellation then goes on. Raises `OSError` when there is no such program.
    """
    output, errors = bytearray(), bytearray()
    async with _child(command, cwd, env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        async with anyio.create_task_group() as group:
            group.start_soon(_keep, process.stdout, output)
            group.start_soon(_keep, process.stderr, errors)
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it need not read what it is given
                await process.stdin.send(given)
            await process.stdin.aclose()
            code = await process.wait()
            _tell(process, signal.SIGKILL)  # whoever is left of its group may keep the streams open
            group.cancel_scope.deadline = anyio.current_time() + GRACE
    return Ended(code=code, output=output.decode(errors="replace"), errors=errors.decode(errors="replace"))


@asynccontextmanager
async def _child(command: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None) -> AsyncIterator[Process]:
    with anyio.CancelScope(shield=True):  # a child that is there, but not ours yet, would be left to itself
        process = await anyio.open_process(list(command), cwd=cwd, env=env, start_new_session=True)
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                _tell(process, signal.SIGTERM)
                with anyio.move_on_after(GRACE):
                    await process.wait()
            _tell(process, signal.SIGKILL)
            await process.aclose()


def _tell(process: Process, what: signal.Signals) -> None:
    """Send the signal to all that is left of the child's group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, what)


async def _keep(stream: ByteReceiveStream, kept: bytearray) -> None:
    async for piece in stream:
        kept += piece[: MOST_BYTES - len(kept)]
