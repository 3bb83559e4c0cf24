"""Child processes of tools, on a real system."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from registry.calls import NO_CALL
from registry.errors import ToolFailed
from registry.messages import ToolCall
from registry.tools.calling import call_tool
from registry.tools.children import MOST_BYTES, run_child
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry

pytestmark = [pytest.mark.anyio, pytest.mark.real_clock]


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


FAMILY = """
import signal, subprocess, sys
for ask in sys.argv[2:]:
    signal.signal(signal.Signals[ask], signal.SIG_IGN)
grandchild = subprocess.Popen(["sleep", "60"])
open(sys.argv[1], "w").write("ready")
grandchild.wait()
"""
"""A child with a child of its own. It says when it is ready, and does not listen to the signals that are named."""


def at_home(folder: Path) -> Iterator[Path]:
    """The processes whose working folder this is."""
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if link.readlink() == folder:
                yield link.parent


async def until(holds: Callable[[], bool], *, seconds: float) -> None:
    with anyio.fail_after(seconds):
        while not holds():  # noqa: ASYNC110 (nobody tells us of what happens in other processes)
            await anyio.sleep(0.01)


async def all_gone(folder: Path) -> None:
    """Waits until the kernel has done what it was told."""
    await until(lambda: not any(at_home(folder)), seconds=2)


async def ready(folder: Path) -> None:
    """Waits until the child in the folder has its child."""
    said = folder / "ready"
    await until(lambda: said.exists() and bool(said.read_text()), seconds=20)


async def test_a_child_ends_by_itself(tmp_path: Path) -> None:
    """Its code and what it wrote come back; it has the input, folder and environment that it was given."""
    text = "import os, sys; print(sys.stdin.read(), os.getcwd(), *os.environ); print('oh', file=sys.stderr); sys.exit(3)"
    ended = await run_child(program(text), given="ä".encode(), cwd=tmp_path, env={"LC_ALL": "C.UTF-8"})

    assert (3, f"ä {tmp_path} LC_ALL\n", "oh\n") == (ended.code, ended.output, ended.errors)


async def test_nothing_in_an_argument_is_a_command() -> None:
    """There is no shell that could read one."""
    ended = await run_child(["printf", "%s", "$(id); `id` > /dev/null"])

    assert "$(id); `id` > /dev/null" == ended.output


async def test_much_is_cut_and_holds_nobody_up() -> None:
    """What comes after the limit is dropped, input that nobody reads is too, and the child runs to its end."""
    text = f"import sys; sys.stdout.write('x' * {3 * MOST_BYTES}); sys.stderr.write('y')"
    ended = await run_child(program(text), given=b"z" * MOST_BYTES)

    assert (0, MOST_BYTES, "y") == (ended.code, len(ended.output), ended.errors)


async def test_no_such_program() -> None:
    """That is the system's own error."""
    with pytest.raises(FileNotFoundError):
        await run_child(["no-such-program-anywhere"])


@pytest.mark.parametrize(
    "deaf",
    [pytest.param((), id="that listens"), pytest.param(("SIGTERM",), id="that does not")],
)
async def test_a_cancelled_call_leaves_no_family(deaf: tuple[str, ...], tmp_path: Path) -> None:
    """Child and grandchild are gone within 2 s, whether they want to or not, and the cancellation goes on."""
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: run_child([*program(FAMILY), str(tmp_path / "ready"), *deaf], cwd=tmp_path))
        await ready(tmp_path)
        assert 2 == len(list(at_home(tmp_path)))
        began = anyio.current_time()
        group.cancel_scope.cancel()

    await all_gone(tmp_path)
    assert anyio.current_time() - began < 2


async def test_a_child_that_ends_takes_its_own_with_it(tmp_path: Path) -> None:
    """What it has left in the background is no more when the call returns, though it had the streams open."""
    began = anyio.current_time()
    ended = await run_child(["sh", "-c", "sleep 60 & echo done"], cwd=tmp_path)

    assert (0, "done\n") == (ended.code, ended.output)
    await all_gone(tmp_path)
    assert anyio.current_time() - began < 10


async def test_whoever_left_the_family_is_not_waited_for(tmp_path: Path) -> None:
    """A process in a session of its own can't be found; it keeps the streams open, and the call ends without it."""
    text = "import subprocess; print(subprocess.Popen(['sleep', '60'], start_new_session=True).pid, flush=True)"
    with anyio.fail_after(30):
        ended = await run_child(program(text), cwd=tmp_path)
    os.kill(int(ended.output), 9)

    assert 0 == ended.code


async def test_a_tool_with_a_child(tmp_path: Path) -> None:
    """Its timeout ends the child, and what the child said of its trouble is what the model reads."""

    @tool(effect="pure", timeout=1)
    async def count(path: str) -> str:
        """Count the lines of a file."""
        ended = await run_child(["sh", "-c", "test -e $0 || { echo no $0 >&2; exit 1; }; sleep 60", path], cwd=tmp_path)
        raise ToolFailed("count", ended.errors.strip())

    (tmp_path / "here").touch()
    tools = ToolRegistry([count])
    gone, late = [
        await call_tool(tools, ToolCall(id="c", name="count", arguments=f'{{"path": "{name}"}}'), NO_CALL)
        for name in ("gone", "here")
    ]

    assert ("ToolFailed", "'count' failed: no gone") == (gone.error, gone.text)
    assert "ToolTimedOut" == late.error
    await all_gone(tmp_path)
