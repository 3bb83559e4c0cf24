"""Whether the holder of a claim is alive, asked of the kernel: it lets go of a dead process' lock, however that died.

Each opening of a journal locks a small file of its own beside the database, and its claims name that file. Where there are no
such locks every holder counts as alive, and only the time of its claim decides.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Presence:
    """This opening's sign of life, and the look at those of others. To be asked within a transaction, so by one at a time."""

    def __init__(self, database: Path) -> None:
        self._folder, self._stem = database.parent, f"{database.name}-holder-"
        self._file = -1
        self._token = ""

    def token(self) -> str:
        """The name of our lock file, which is made when it is first asked for, and those of the dead are cleared away."""
        if not self._token:
            for left in [file.name for file in os.scandir(self._folder) if file.name.startswith(self._stem)]:
                if not self.is_alive(left):
                    (self._folder / left).unlink(missing_ok=True)
            self._file, place = tempfile.mkstemp(prefix=self._stem, dir=self._folder)
            if fcntl:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            self._token = Path(place).name
        return self._token

    def is_alive(self, token: str) -> bool:
        """Whether the opening that made this token may still be there."""
        if token == self._token:
            return True
        try:
            file = os.open(self._folder / token, os.O_RDONLY)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            return not _can_lock(file)
        finally:
            os.close(file)

    def close(self) -> None:
        """Nobody is here any more, whatever claims there are."""
        if self._token:
            os.close(self._file)
            (self._folder / self._token).unlink(missing_ok=True)
            self._token = ""


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Within the block no other process is in such a block of the same folder, where the system knows locks."""
    if fcntl is None:
        yield
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _can_lock(file: int) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
