"""How many parts of one step may be under way at once."""

from collections.abc import Iterable

from msgspec import Struct, field


class _Room(Struct):
    places: int
    taken: set[str] = field(default_factory=set)
    queue: dict[str, None] = field(default_factory=dict)


class Widths:
    """Rooms with so many places, each step's its own. Who finds no place stands in line."""

    def __init__(self) -> None:
        self._room_of: dict[str, _Room] = {}

    def limit(self, parts: Iterable[str], width: int) -> None:
        """Of these at most `width` may be under way at once."""
        room = _Room(width)
        self._room_of.update(dict.fromkeys(parts, room))

    def enter(self, part: str) -> bool:
        """Whether the part may start, which takes a place that it does not have yet. Otherwise it stands in line."""
        room = self._room_of.get(part)
        if room is None or part in room.taken:
            return True
        if len(room.taken) < room.places:
            room.taken.add(part)
            return True
        room.queue[part] = None
        return False

    def leave(self, part: str) -> str | None:
        """The part gives up its place, or its place in line. Returns the one that may start instead, if there is one."""
        room = self._room_of.get(part)
        if room is None:
            return None
        room.queue.pop(part, None)
        room.taken.discard(part)
        if not room.queue or len(room.taken) >= room.places:
            return None
        following = next(iter(room.queue))
        del room.queue[following]
        room.taken.add(following)
        return following
