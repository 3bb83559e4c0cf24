"""Files below one folder."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from registry.builtin.files import file_tools
from registry.calls import NO_CALL
from registry.errors import ToolDenied
from registry.messages import ToolCall
from registry.tools.calling import call_tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Observation

pytestmark = pytest.mark.anyio


async def inline(work: Callable[[], Any]) -> Any:
    return work()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with some files, and a secret beside it."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "secret.txt").write_text("secret")
    root = tmp_path / "root"
    (root / "notes").mkdir(parents=True)
    (root / "report.txt").write_text("Über alles.", encoding="utf-8")
    (root / "notes" / "one.md").write_text("# One")
    (root / "link.txt").symlink_to("notes/one.md")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "away").symlink_to(tmp_path / "beside")
    (root / "circle").symlink_to("circle")
    return root


async def asked(root: Path, name: str, **args: Any) -> Observation:
    asking = ToolCall(id="c", name=name, arguments=json.dumps(args))
    return await call_tool(ToolRegistry(file_tools(root, threads=inline)), asking, NO_CALL)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("report.txt", "Über alles.", id="file"),
        pytest.param("./notes/one.md", "# One", id="in a folder"),
        pytest.param("link.txt", "# One", id="a link that stays inside"),
    ],
)
async def test_reads(root: Path, path: str, text: str) -> None:
    """A text file is read whole, and what it says is not trusted."""
    seen = await asked(root, "read_file", path=path)

    assert (None, text, ("tool:read_file",)) == (seen.error, seen.text, seen.origins)


@pytest.mark.parametrize("tool", ["read_file", "list_files"])
@pytest.mark.parametrize(
    "path",
    [
        pytest.param("../secret.txt", id="parent"),
        pytest.param("notes/../../secret.txt", id="parent within"),
        pytest.param("notes\\..\\..\\secret.txt", id="parent with backslashes"),
        pytest.param("/etc/passwd", id="absolute"),
        pytest.param("//etc/passwd", id="two slashes"),
        pytest.param("C:\\secret.txt", id="drive"),
        pytest.param("C:secret.txt", id="drive without a root"),
        pytest.param("\\\\server\\share", id="share"),
        pytest.param("out.txt", id="link to a file"),
        pytest.param("away", id="link to a folder"),
        pytest.param("away/secret.txt", id="through a link"),
        pytest.param("report.txt\0.md", id="NUL"),
    ],
)
async def test_no_way_out(root: Path, tool: str, path: str) -> None:
    """No path leads out of the folder, however it is written: the tool itself denies it, whoever calls it."""
    with pytest.raises(ToolDenied) as denied:
        await ToolRegistry(file_tools(root, threads=inline)).get(tool).run({"path": path}, NO_CALL)

    assert str(root.parent) not in str(denied.value)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        pytest.param("raport.txt", "no file 'raport.txt'; did you mean 'report.txt'? there are: away, binary, circle", id="near"),
        pytest.param(
            "notes/two.md", "no file 'notes/two.md'; did you mean 'notes/one.md'? there are: notes/one.md", id="in a folder"
        ),
        pytest.param("nowhere/two.md", "no file 'nowhere/two.md'; there are: away, binary", id="no folder"),
        pytest.param("notes", "'notes' is a folder; it holds: one.md", id="folder"),
        pytest.param("circle", "'circle' can't be followed", id="circle"),
        pytest.param("x" * 300, "can't be followed", id="long name"),
        pytest.param("pipe", "'pipe' is neither a file nor a folder", id="pipe"),
        pytest.param("binary", "'binary' is not UTF-8 text (3 bytes)", id="binary"),
    ],
)
async def test_unreadable(root: Path, path: str, why: str) -> None:
    """What can't be read is said with what there is, without the machine's own paths."""
    os.mkfifo(root / "pipe")
    (root / "binary").write_bytes(b"\xff\x00a")

    seen = await asked(root, "read_file", path=path)

    assert seen.error == "ToolFailed"
    assert why in seen.text
    assert str(root) not in seen.text


@pytest.mark.parametrize(
    ("before", "shown"), [pytest.param("", 100_000, id="between characters"), pytest.param("a", 100_000, id="within one")]
)
async def test_long_files_are_cut_with_a_mark(root: Path, before: str, shown: int) -> None:
    """Only 200 kB are shown, whole characters only, and how much is missing is said."""
    text = before + "é" * 150_000
    (root / "long.txt").write_text(text, encoding="utf-8")

    seen = await asked(root, "read_file", path="long.txt")
    head, _, mark = seen.text.rpartition("\n")

    assert shown == len(head)
    assert text.startswith(head)
    assert f"[cut: {len(text.encode()) - 200_000} of {len(text.encode())} bytes are not shown]" == mark


async def test_lists(root: Path) -> None:
    """Names are sorted, and folders end in a slash."""
    assert (await asked(root, "list_files")).data == ["away/", "circle", "link.txt", "notes/", "out.txt", "report.txt"]
    assert (await asked(root, "list_files", path="notes")).data == ["one.md"]
    assert "'report.txt' is not a folder" in (await asked(root, "list_files", path="report.txt")).text


async def test_long_lists_are_cut_with_a_mark(root: Path) -> None:
    """Five hundred names are shown, and how many more there are is said."""
    for number in range(502):
        (root / "notes" / f"{number:03}").touch()

    names = (await asked(root, "list_files", path="notes")).data

    assert (len(names), names[499], names[500]) == (501, "499", "[cut: 3 more]")


@pytest.mark.real_clock
async def test_reads_in_a_thread(root: Path) -> None:
    """By default reading does not block the loop."""
    read, _ = file_tools(root)

    assert await read.run({"path": "report.txt"}, NO_CALL) == "Über alles."
