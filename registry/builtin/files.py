"""Files below one folder, to read. No path leads out of it."""

import codecs
from pathlib import Path, PurePosixPath, PureWindowsPath

from registry.errors import ToolDenied, ToolFailed, there_are
from registry.tools.function import tool
from registry.tools.threads import Threads, in_worker_thread
from registry.tools.tool import Tool

_MOST_BYTES = 200_000
_MOST_NAMES = 500
_MOST_SUGGESTED = 50


def file_tools(root: Path, *, threads: Threads = in_worker_thread) -> tuple[Tool, Tool]:
    """The tools `read_file` and `list_files`. Paths are relative to `root`, which models never see."""

    @tool(effect="pure", threads=threads)
    def read_file(path: str) -> str:
        """Read a text file.

        Args:
            path: relative to the folder, as list_files shows it, with forward slashes
        """
        found = _inside(root, path, "read_file")
        if not found.is_file():
            raise ToolFailed("read_file", _absent(root, path, found))
        return _text(found, path)

    @tool(effect="pure", threads=threads)
    def list_files(path: str = ".") -> list[str]:
        """List the files of a folder; the names of folders within it end in a slash.

        Args:
            path: relative to the outermost folder, "." for that folder itself
        """
        found = _inside(root, path, "list_files")
        if not found.is_dir():
            raise ToolFailed("list_files", f"{path!r} is not a folder")
        names = _names(found)
        more = [f"[cut: {len(names) - _MOST_NAMES} more]"] if len(names) > _MOST_NAMES else []
        return names[:_MOST_NAMES] + more

    return read_file, list_files


def _inside(root: Path, path: str, asked: str) -> Path:
    """The real place that the path names. Raises `ToolDenied` when it is not below the root, links followed."""
    windows = PureWindowsPath(path)
    if "\0" in path:
        raise ToolDenied(asked, "a path can't hold a NUL character")
    if PurePosixPath(path).is_absolute() or windows.drive or windows.root:
        raise ToolDenied(asked, f"{path!r} is not a relative path")
    if ".." in windows.parts:
        raise ToolDenied(asked, f"{path!r} climbs with '..'")
    home = root.resolve()
    try:
        found = (home / path).resolve()
        found.exists()
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a name too long or no name at all
        raise ToolFailed(asked, f"{path!r} can't be followed") from error
    if not found.is_relative_to(home):
        raise ToolDenied(asked, f"{path!r} leads out of the folder")
    return found


def _text(found: Path, path: str) -> str:
    try:
        with found.open("rb") as file:
            head = file.read(_MOST_BYTES)
            size = max(found.stat().st_size, len(head))
    except OSError as error:
        raise ToolFailed("read_file", f"{path!r} can't be read: {error.strerror}") from error
    cut = size - len(head)
    try:
        # Incremental, for the cut may go through the middle of a character.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=cut == 0)
    except UnicodeDecodeError as error:
        raise ToolFailed("read_file", f"{path!r} is not UTF-8 text ({size} bytes)") from error
    return f"{text}\n[cut: {cut} of {size} bytes are not shown]" if cut else text


def _absent(root: Path, path: str, found: Path) -> str:
    if found.is_dir():
        return f"{path!r} is a folder; it holds: {', '.join(_names(found)[:_MOST_SUGGESTED]) or 'nothing'}"
    if found.exists():
        return f"{path!r} is neither a file nor a folder"
    home = root.resolve()
    folder = found.parent if found.parent.is_dir() else home
    there = [(folder.relative_to(home) / name).as_posix() for name in _names(folder)[:_MOST_SUGGESTED]]
    return f"no file {path!r}; {there_are(path, there)}"


def _names(folder: Path) -> list[str]:
    try:
        return sorted(f"{member.name}/" if member.is_dir() else member.name for member in folder.iterdir())
    except OSError as error:
        raise ToolFailed("list_files", f"the folder can't be read: {error.strerror}") from error
