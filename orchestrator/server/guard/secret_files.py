"""Files that hold secrets: nobody but their owner may read or write them."""

import os
import stat
from pathlib import Path

from registry.errors import ConfigurationError


def read_private(path: Path) -> str:
    """The text of the file.

    Raises `ConfigurationError` unless it is a plain file of ours (no symbolic link) that nobody else has a right to, and
    `FileNotFoundError` where there is none.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigurationError(f"the file {path} can't be read, or is a symbolic link: {error.strerror}") from error
    try:
        _refuse_shared(path, os.fstat(handle))
        with open(handle, encoding="utf-8", errors="replace", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def write_private(path: Path, text: str) -> None:
    """Make the file, which must not be there yet. Raises `ConfigurationError`."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigurationError(f"the file {path} can't be made: {error.strerror}") from error
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)


def _refuse_shared(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ConfigurationError(f"{path} is not a plain file")
    if found.st_uid != os.geteuid():
        raise ConfigurationError(f"the file {path} belongs to somebody else")
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise ConfigurationError(f"others may use the file {path} (mode {mode:04o}); chmod 600 it, and make its token anew")
