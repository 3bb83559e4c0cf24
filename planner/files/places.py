"""Where the parts of a text stand, and how much of it there may be. Both are known before anything is built of it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from planner.diagnostics import Diagnostic, pointer

MAX_BYTES = 4_000_000
MAX_DEPTH = 64
MAX_VALUES = 400_000

TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"

_EDGES = "/depends_on"
_ALSO_WRITTEN = ("/dependencies", "/needs")


class Position(NamedTuple):
    """Both count from 1."""

    line: int
    column: int


class UnreadableText(ValueError):
    """The text is not JSON or YAML as we take it: `why`, and where it is, as far as that is known."""

    def __init__(self, why: str, at: Position | None = None) -> None:
        super().__init__(f"line {at.line}: {why}" if at else why)
        self.why, self.at = why, at


class _Open(Struct):
    """A list or an object that is being read. `item` is the position of a list's next item, None for an object."""

    place: str
    item: int | None
    member: str = ""


class Outline:
    """Follows a reader of JSON or YAML through its text. Raises `UnreadableText` for too much, and for a key that comes twice.

    `places` has the position of every part by its JSON pointer: of an object's member that of its key, else of the value.
    """

    def __init__(self) -> None:
        self.places: dict[str, Position] = {}
        self._open: list[_Open] = []
        self._values = 0

    @property
    def in_object(self) -> bool:
        """Whether the innermost thing is an object, whose members have keys."""
        return bool(self._open) and self._open[-1].item is None

    def key(self, name: str, at: Position) -> None:
        """A member of the innermost object begins."""
        inner = self._open[-1]
        inner.member = inner.place + pointer(name)
        if inner.member in self.places:
            raise UnreadableText(f"the key {name!r} is there twice", at)
        self.places[inner.member] = at

    def value(self, at: Position) -> str:
        """A value begins. Returns its JSON pointer."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise UnreadableText(f"more than {MAX_VALUES:,} values", at)
        if not self._open:
            place = ""
        else:
            inner = self._open[-1]
            if inner.item is None:
                return inner.member
            place = f"{inner.place}/{inner.item}"
            inner.item += 1
        self.places[place] = at
        return place

    def enter(self, at: Position, *, is_list: bool) -> None:
        """A list or an object begins."""
        place = self.value(at)
        if len(self._open) >= MAX_DEPTH:
            raise UnreadableText(TOO_DEEP, at)
        self._open.append(_Open(place, 0 if is_list else None))

    def leave(self) -> None:
        """The innermost list or object ends."""
        if self._open:
            self._open.pop()


def located(findings: Iterable[Diagnostic], places: Mapping[str, Position]) -> tuple[Diagnostic, ...]:
    """The findings with line and column: those of the place, or of the innermost part around it that was written."""
    return tuple(_located(found, _position(found.place, places)) for found in findings)


def _located(found: Diagnostic, at: Position | None) -> Diagnostic:
    return found if at is None or found.line is not None else replace(found, line=at.line, column=at.column)


def _position(place: str, places: Mapping[str, Position]) -> Position | None:
    while place:
        spellings = (place, *(place.replace(_EDGES, other, 1) for other in _ALSO_WRITTEN if _EDGES in place))
        if written := next((spelling for spelling in spellings if spelling in places), None):
            return places[written]
        place = place.rpartition("/")[0]
    return places.get("")
