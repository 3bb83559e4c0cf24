"""What a tool returned, as text for a model and as a JSON value for the steps that follow.

| result                                              | becomes                                                     |
|-----------------------------------------------------|-------------------------------------------------------------|
| str                                                 | itself                                                      |
| None                                                | no text                                                     |
| bytes                                               | their text if they are UTF-8 without NULs, else `<N bytes>` |
| Enum                                                | its value                                                   |
| date, time, datetime                                | ISO 8601                                                    |
| timedelta                                           | seconds                                                     |
| Decimal, UUID, Path, int beyond 64 bits             | their text, so that no digit is lost                        |
| a number that is not finite                         | null                                                        |
| Artifact                                            | a note of what was made, for the user sees it               |
| Mapping, dataclass, pydantic model                  | object, keys in the given order                             |
| Sequence / Set                                      | array / sorted array                                        |
| anything else in those, anything nested in itself   | a note that names the type                                  |
"""

import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import PurePath
from types import NoneType
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict
from pydantic import BaseModel

from registry.messages import Json
from registry.tools.artifacts import Artifact

_DEEPEST = 60
_LONGEST_INT = 2**63


def rendered(result: object) -> tuple[str, Json] | None:
    """The text, and the JSON value of a structured result: None for one that is text only. Never raises.

    None in all for what can't be shown: an object of a type that isn't above, or one that fails when it is looked at.
    """
    if type(result) is str and result.isascii():
        return result, None
    if result is None:
        return "", None
    try:
        plain = _plain(result, ())
    except Exception:  # noqa: BLE001 (it runs properties and iterators that somebody else wrote)
        return None
    if plain == _note(result):
        return None
    return (plain, None) if isinstance(plain, str) else (json_text(plain), plain)


def json_text(value: Json) -> str:
    """Compact JSON of a JSON value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def visible(value: Json) -> str:
    """A JSON value as text to decide by: keys sorted, and nothing in it hidden."""
    return escaped(json.dumps(value, ensure_ascii=False, sort_keys=True))


def escaped(text: str) -> str:
    """The text with all that can't be seen, or that changes how the rest is seen, in JSON's escapes."""
    return text if text.isprintable() else "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def _plain(value: object, inside: tuple[int, ...]) -> Json:
    """The JSON value that says the same. `inside` are the ids of the containers around it."""
    if isinstance(value, Enum):
        return _plain(value.value, inside)
    for types, converted in _LEAVES:
        if isinstance(value, types):
            return converted(value)
    if id(value) in inside or len(inside) == _DEEPEST:
        return _note(value)
    return _nested(value, (*inside, id(value)))


def _nested(value: object, within: tuple[int, ...]) -> Json:
    members = _members(value)
    if isinstance(members, Mapping):
        return {_key(key, within): _plain(member, within) for key, member in members.items()}
    if isinstance(members, Sequence):
        return [_plain(member, within) for member in members]
    if isinstance(members, Set):
        return _sorted([_plain(member, within) for member in members])
    return _note(value)


def _members(value: object) -> object:
    """The mapping behind an object with named fields; anything else is itself."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, Struct):
        return asdict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value


def _key(key: object, inside: tuple[int, ...]) -> str:
    plain = _plain(key, inside)
    return plain if isinstance(plain, str) else json_text(plain)


def _sorted(members: list[Json]) -> list[Json]:
    try:
        return sorted(members)
    except TypeError:
        return sorted(members, key=json_text)


def as_utf8(text: str) -> str:
    """Half a surrogate pair is not text, and no wire would take it."""
    return text.encode("utf-8", "replace").decode()


def _bytes(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\0"
    return f"<{len(value)} bytes>" if "\0" in text else text


def _note(value: object) -> str:
    return f"<{as_utf8(type(value).__name__)}: can't be shown as text>"


_LEAVES: tuple[tuple[tuple[type, ...], Callable[[Any], Json]], ...] = (
    ((str,), as_utf8),
    ((bool, NoneType), lambda value: value),
    ((int,), lambda value: int(value) if -_LONGEST_INT <= value < _LONGEST_INT else str(int(value))),
    ((float,), lambda value: float(value) if isfinite(value) else None),
    ((bytes, bytearray, memoryview), lambda value: _bytes(bytes(value))),
    ((date, time), lambda value: value.isoformat()),
    ((timedelta,), lambda value: value.total_seconds()),
    ((Decimal, UUID, PurePath), lambda value: as_utf8(str(value))),
    ((Artifact,), lambda value: as_utf8(value.note)),
)
"""What holds nothing else, by type: the first that fits."""
