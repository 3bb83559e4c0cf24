"""What a repair works on: the steps that a model wrote, each with the position at which it wrote it."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from planner.check import Known
from planner.diagnostics import Diagnostic, pointer
from planner.plan import AnyStep, Draft
from planner.references import Reference, Unreadable, rewrite


class Entry(Struct, frozen=True, kw_only=True):
    """A step and its position in the answer."""

    at: int
    step: AnyStep

    def place(self, *parts: str | int) -> str:
        """The JSON pointer of a part of the step, in the answer."""
        return pointer("steps", self.at, *parts)

    def changed(self, **fields: Any) -> "Entry":
        """The entry with some of its step's fields changed."""
        return Entry(at=self.at, step=self.step.model_copy(update=fields))

    def rewritten(self, written: Callable[[Reference | Unreadable], str]) -> "Entry":
        """The entry with every reference in its step written anew."""
        return self.changed(**{place[1:]: rewrite(value, written) for place, value in self.step.texts()})


class Ground(Struct, frozen=True, kw_only=True):
    """What the entries stand on: what the run has, the draft that they extend and can't change, and how many there may be."""

    known: Known
    base: Draft
    most: int | None


Entries = tuple[Entry, ...]
Mended = tuple[Entries, list[Diagnostic]]
"""What a pass makes of the entries, and its report."""
