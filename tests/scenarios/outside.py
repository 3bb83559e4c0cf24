"""The world that tools and models are in. It outlives every process, and the engine can't look into it."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

from registry.tools.tool import Effect

MODEL = "model"
"""Stands for the name of a tool where a model was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """A tool ran to where its effect has happened, or a model was asked: one for each time. `life` counts a run's processes."""

    tool: str
    effect: Effect
    key: str
    about: str
    result: str = ""
    life: int = 1


class Outside(Protocol):
    def happen(self, execution: Execution) -> None:
        """From here on it has happened, whatever becomes of the process."""
        ...

    def __iter__(self) -> Iterator[Execution]:
        """What happened, in order."""
        ...


@dataclass
class Remembered:
    """An outside that lives as long as the test."""

    happened: list[Execution] = field(default_factory=list)

    def happen(self, execution: Execution) -> None:
        self.happened.append(execution)

    def __iter__(self) -> Iterator[Execution]:
        return iter(self.happened)


class Folder:
    """An outside of files, one for each execution, which is there wholly or not at all."""

    def __init__(self, path: Path, life: int = 1) -> None:
        self._path, self._life = path, life

    def happen(self, execution: Execution) -> None:
        said = asdict(execution) | {"life": self._life}
        unfinished = self._path / f".{os.getpid()}"
        unfinished.write_text(json.dumps(said))
        unfinished.rename(self._path / f"{len(self.files()):04}-{os.getpid()}")

    def __iter__(self) -> Iterator[Execution]:
        for file in self.files():
            yield Execution(**json.loads(file.read_text()))

    def files(self) -> Sequence[Path]:
        return sorted(self._path.glob("[0-9]*"))
