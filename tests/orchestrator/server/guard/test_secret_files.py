"""Files that hold secrets."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.server.guard.secret_files import read_private, write_private
from registry.errors import ConfigurationError


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Folders that lack are made; file and folder are the owner's alone, whatever the umask."""
    path = tmp_path / "state" / "token"
    before = os.umask(0)
    try:
        write_private(path, "secret\n")
    finally:
        os.umask(before)

    assert "secret\n" == read_private(path)
    assert (0o600, 0o700) == (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777)


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    """A file that somebody has put there is left, and a link is not followed."""
    path, link = tmp_path / "token", tmp_path / "link"
    path.write_text("theirs")
    link.symlink_to(tmp_path / "elsewhere")

    for taken in (path, link):
        with pytest.raises(ConfigurationError, match="can't be made"):
            write_private(taken, "ours")
    assert ("theirs", False) == (path.read_text(), (tmp_path / "elsewhere").exists())


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o604, 0o602, 0o666, 0o700 | 0o001])
def test_others_may_not_use_it(mode: int, tmp_path: Path) -> None:
    """A file that others may read, write or run is refused, and the sentence says what to do."""
    path = tmp_path / "token"
    path.write_text("secret")
    path.chmod(mode)

    with pytest.raises(ConfigurationError, match="chmod 600") as caught:
        read_private(path)
    assert "secret" not in str(caught.value)


def link(path: Path) -> None:
    target = path.with_name("target")
    write_private(target, "secret")
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        pytest.param(link, "symbolic link", id="a link to a private file"),
        pytest.param(lambda path: path.mkdir(mode=0o700), "not a plain file", id="a folder"),
        pytest.param(lambda path: os.mkfifo(path, 0o600), "not a plain file", id="a pipe, which nobody waits at"),
    ],
)
def test_only_plain_files(make: Callable[[Path], None], why: str, tmp_path: Path) -> None:
    """Whatever else goes by the name is refused at once."""
    make(tmp_path / "token")

    with pytest.raises(ConfigurationError, match=why):
        read_private(tmp_path / "token")


def test_no_file_is_no_fault(tmp_path: Path) -> None:
    """Whoever asks may make one then."""
    with pytest.raises(FileNotFoundError):
        read_private(tmp_path / "token")
