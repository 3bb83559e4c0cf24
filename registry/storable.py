"""What can be written down: plain JSON, and our own types made of it. Asked where a value comes in, never where it is written."""

from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from math import isfinite
from typing import Any

import msgspec
from pydantic import BaseModel, TypeAdapter, ValidationError

_DEEPEST = 100


def unstorable(value: object, at: str) -> str | None:
    """What in the value can't be stored, and where, as a sentence that begins with the place `at`; None when all of it can.

    A value of our own types can be when it is what its type says: what is read back must be what was written.
    """
    return _misfit(value, at, 0) or _mistyped(value, at)


def _misfit(value: object, at: str, depth: int) -> str | None:
    if depth > _DEEPEST:
        return f"{at} is nested deeper than {_DEEPEST} levels"
    match value:
        case None | bool() | int():
            return None
        case str():
            return None if _is_text(value) else f"{at} is text with half a character in it"
        case float():
            return None if isfinite(value) else f"{at} is {value}, which is no number in JSON"
    members = _members(value, at)
    if members is None:
        return f"{at} is a {type(value).__name__}, which can't be stored"
    return next((found for place, member in members if (found := _misfit(member, place, depth + 1))), None)


def _members(value: object, at: str) -> Iterable[tuple[str, object]] | None:
    """What the value holds, with the place of each; None where that can't be known."""
    match value:
        case dict() if all(isinstance(key, str) and _is_text(key) for key in value):
            return ((f"{at}.{key}", member) for key, member in value.items())
        case list() | tuple():
            return ((f"{at}[{place}]", member) for place, member in enumerate(value))
        case BaseModel():
            return ((f"{at}.{name}", member) for name, member in value)
        case msgspec.Struct():
            held = ((f"{at}.{field}", getattr(value, field)) for field in value.__struct_fields__)
            return (each for each in held if not isinstance(each[1], Decimal))  # which only our own types read back
    return None


def _mistyped(value: object, at: str) -> str | None:
    try:
        match value:
            case msgspec.Struct():
                msgspec.json.decode(msgspec.json.encode(value), type=type(value))
            case BaseModel():
                adapter = _adapter(type(value))
                adapter.validate_json(adapter.dump_json(value, warnings=False))
    except msgspec.ValidationError as invalid:
        what, _, where = str(invalid).partition(" - at `$")
        return f"{at}{where.rstrip('`')} is not what it must be: {what}"
    except ValidationError as invalid:
        wrong = invalid.errors(include_url=False)[0]
        return f"{'.'.join((at, *map(str, wrong['loc'])))} is not what it must be: {wrong['msg']}"
    return None


@cache
def _adapter(kind: type[BaseModel]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
