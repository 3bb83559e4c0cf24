"""Puts tool calls together from the fragments of a stream.

Endpoints disagree on what holds a call's fragments together: an id, an index, both, or nothing but order. A fragment
belongs to the call with its id, else with its index, else with its position in the chunk, else to the last one; and a
name where the call's arguments are already whole begins a new call.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from registry.messages import Json, ToolCall
from registry.wire.lift import call_extra, call_parts, extra_text, unique, written


@dataclass(slots=True, kw_only=True)
class _OpenCall:
    """A call under construction. One that `repeats` another counts only if arguments come: it may be that one, named again."""

    id: str
    index: int | None
    name: str
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, Json] = field(default_factory=dict)
    repeats: "_OpenCall | None" = None

    def whole(self) -> bool:
        try:
            orjson.loads("".join(self.arguments))
        except ValueError:
            return False
        return True


class _Fragment(NamedTuple):
    """Some more of a call. `number` is the index that the endpoint gave it."""

    id: str
    number: int | None
    name: str
    arguments: str
    extra: dict[str, Json]


class CallAssembly:
    """The calls of one streamed reply."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: list[_OpenCall] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, entries: list[dict[str, Json]]) -> None:
        """Take in the entries of one chunk."""
        for position, entry in enumerate(entries):
            given, name, arguments = call_parts(entry)
            index = entry.get("index")
            if not isinstance(index, int):
                index = position if len(entries) > 1 else None
            self._take(_Fragment(given, index, name, arguments, call_extra(entry)))

    def calls(self, taken: Collection[str] = ()) -> tuple[ToolCall, ...]:
        """All calls, in the order in which they began, with ids that differ from each other and from `taken`."""
        for call in reversed(self._calls):
            if call.repeats and not call.arguments:
                call.repeats.extra = _joined(call.repeats.extra, call.extra)
        return unique(tuple(_whole(call) for call in self._calls if call.arguments or not call.repeats), taken)

    def _take(self, fragment: _Fragment) -> None:
        call = self._owner(fragment)
        if call is None or (fragment.name and _begins_anew(call, fragment)):
            # A bare repeat of the name, after whole arguments and without a new id, may or may not begin a call.
            doubtful = call is not None and not fragment.arguments and fragment.id in ("", call.id) and fragment.name == call.name
            call = _OpenCall(id=fragment.id, index=fragment.number, name=fragment.name, repeats=call if doubtful else None)
            self._calls.append(call)
        call.id = call.id or fragment.id
        call.name = call.name or fragment.name
        if fragment.arguments:
            call.arguments.append(fragment.arguments)
        if fragment.extra:
            call.extra = _joined(call.extra, fragment.extra)

    def _owner(self, fragment: _Fragment) -> _OpenCall | None:
        """The call that the fragment continues, or takes over from; the latest where several fit."""
        latest = self._calls[::-1]
        if fragment.id:
            same = [call for call in latest if call.id == fragment.id]
            if same:
                return next((call for call in same if call.index == fragment.number), same[0])
        if fragment.number is not None:
            return next((call for call in latest if call.index == fragment.number), None)
        return next(iter(latest), None)


def _whole(call: _OpenCall) -> ToolCall:
    return ToolCall(id=call.id, name=call.name, arguments=written("".join(call.arguments)), extra=extra_text(call.extra))


def _joined(extra: dict[str, Json], more: dict[str, Json]) -> dict[str, Json]:
    """What only the endpoint understands of a call, when it tells some more of it."""
    within = {**extra.get("function", {}), **more.get("function", {})}
    return {**extra, **more, **({"function": within} if within else {})}


def _begins_anew(call: _OpenCall, fragment: _Fragment) -> bool:
    """Whether a fragment with a name is another call than the one it was matched with."""
    if not call.name:
        return False
    if fragment.id and call.id and fragment.id != call.id:
        return True
    moved = fragment.number is not None and call.index is not None and fragment.number != call.index
    return moved or fragment.name != call.name or call.whole()
