"""Passes that give every step an id of its own, and let dependencies and references follow."""

import re
from bisect import bisect_left
from collections.abc import Iterable

from planner.check.structure import ID
from planner.diagnostics import Diagnostic, repaired
from planner.references import Reference, Unreadable, renamed
from planner.repair.entries import Entries, Entry, Ground, Mended

_UNUSABLE = re.compile(r"[^\w-]+")
_LONGEST = 64
_BASE = -1
"""The position of steps that were there before the answer."""


def without_relisted(entries: Entries, ground: Ground) -> Mended:
    """A step of the base that the answer lists again is the base's own."""
    tasks = {step.id: step.task for step in ground.base.steps}
    again = {entry.at for entry in entries if entry.step.id in tasks and entry.step.task.strip() in ("", tasks[entry.step.id])}
    found = [
        repaired("P003", entry.place("id"), f"dropped: step {entry.step.id!r} is there already")
        for entry in entries
        if entry.at in again
    ]
    return tuple(entry for entry in entries if entry.at not in again), found


def with_usable_ids(entries: Entries, ground: Ground) -> Mended:
    """Ids of allowed characters, each once. A step that names an id which several had means the last of them before it."""
    found: list[Diagnostic] = []
    names = _Names(step.id for step in ground.base.steps)
    ids = [names.add(entry, found) for entry in entries]
    return tuple(_following(entry, own, names, found) for entry, own in zip(entries, ids, strict=True)), found


class _Names:
    """Which step an id means, seen from where it is written."""

    def __init__(self, base: Iterable[str]) -> None:
        self._taken = set(base)
        self._written = {name: [(_BASE, name)] for name in self._taken}
        self._counts: dict[str, int] = {}

    def add(self, entry: Entry, found: list[Diagnostic]) -> str:
        """The id that the entry's step gets."""
        written = entry.step.id
        wanted = written if ID.fullmatch(written) else _cleaned(written) or f"step-{entry.at + 1}"
        own = self._free(wanted)
        if wanted != written:
            why = f"{written[:_LONGEST]!r} can't be an id" if written else "the step has no id"
            found.append(repaired("P002", entry.place("id"), f"{why}: it is now {own!r}"))
        elif own != written:
            message = f"the id {written!r} is taken: this step is now {own!r}, also where a later step says {written!r}"
            found.append(repaired("P003", entry.place("id"), message))
        self._written.setdefault(written, []).append((entry.at, own))
        return own

    def meant(self, written: str, at: int) -> str | None:
        """The id that the step at this position means: the last one before it, else its own, else the next one."""
        known = self._written.get(written)
        if known is None:
            return None
        place = bisect_left(known, (at, ""))
        return known[place - 1][1] if place else known[0][1]

    def _free(self, wanted: str) -> str:
        name = wanted
        while name in self._taken:
            self._counts[wanted] = self._counts.get(wanted, 1) + 1
            suffix = f"-{self._counts[wanted]}"
            name = wanted[: _LONGEST - len(suffix)] + suffix
        self._taken.add(name)
        return name


def _cleaned(text: str) -> str:
    return _UNUSABLE.sub("-", text).strip("-")[:_LONGEST]


def _following(entry: Entry, own: str, names: _Names, found: list[Diagnostic]) -> Entry:
    def meant(number: int, written: str) -> str:
        exact = names.meant(written, entry.at)
        near = None if exact else names.meant(_cleaned(written), entry.at)
        if near:
            found.append(repaired("P005", entry.place("depends_on", number), f"no step named {written!r}: taken as {near!r}"))
        return exact or near or written

    def written(reference: Reference | Unreadable) -> str:
        if isinstance(reference, Unreadable) or reference.source != "steps":
            return reference.text
        return renamed(reference, names.meant(reference.name, entry.at) or reference.name)

    edges = tuple(meant(number, name) for number, name in enumerate(entry.step.depends_on))
    return entry.changed(id=own, depends_on=edges).rewritten(written)
