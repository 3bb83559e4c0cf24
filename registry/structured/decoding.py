"""Strict JSON decoding that hides nothing: no key is lost, no number turns into another, every text can be written as UTF-8."""

import json
import math
import re

from msgspec import Struct

from registry.messages import Json

REPLACEMENT = "\ufffd"

NOT_NUMBERS = {name: f"{name} became null" for name in ("NaN", "Infinity", "-Infinity")}
"""What JSON can't say of a number, and the note that tells of it."""

_UNSTORABLE = re.compile("[\ud800-\udfff\x00]")
_MAYBE_UNSTORABLE = re.compile("[\ud800-\udfff\x00]|\\\\u(?:[dD][89a-fA-F]|0000)")


class ConflictingKeys(ValueError):
    """One object names a key twice, with different values: nobody can say which one was meant."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key!r} comes twice with different values")
        self.key = key


class Decoded(Struct, frozen=True):
    """A JSON value, where its text ended, and what had to be changed to get it."""

    value: Json
    end: int
    notes: tuple[str, ...] = ()


def decode(text: str) -> Decoded:
    """The one JSON value that `text` is. Raises ValueError when it is anything else, `ConflictingKeys` among them.

    NaN and the infinities, which are not JSON, become null; characters that no store can hold become U+FFFD. Both are noted.
    """
    decoded = decode_at(text, len(text) - len(text.lstrip(" \t\r\n")))
    if text[decoded.end :].strip(" \t\r\n"):
        raise json.JSONDecodeError("Extra data", text, decoded.end)
    return decoded


def decode_at(text: str, start: int, *, control_characters: bool = False) -> Decoded:
    """The JSON value that begins at `start`, whatever comes after it. Raises as `decode`.

    With `control_characters`, strings may hold raw newlines, tabs and the like.
    """
    notes: list[str] = []
    decoder = json.JSONDecoder(
        object_pairs_hook=lambda pairs: _object(pairs, notes),
        parse_float=_finite,
        parse_constant=lambda name: notes.append(NOT_NUMBERS[name]),
        strict=not control_characters,
    )
    value, end = decoder.raw_decode(text, start)
    if _MAYBE_UNSTORABLE.search(text, start, end):
        value = _storable(value, notes)
    return Decoded(value, end, tuple(dict.fromkeys(notes)))


def _object(pairs: list[tuple[str, Json]], notes: list[str]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        _refuse_conflicts(pairs)
        notes.append("a repeated key with equal values was merged")
    return found


def _refuse_conflicts(pairs: list[tuple[str, Json]]) -> None:
    first: dict[str, Json] = {}
    for key, value in pairs:
        if json.dumps(first.setdefault(key, value)) != json.dumps(value):
            raise ConflictingKeys(key)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number


def _storable(value: Json, notes: list[str]) -> Json:
    if isinstance(value, str):
        clean = _UNSTORABLE.sub(REPLACEMENT, value)
        if clean != value:
            notes.append("characters that can't be stored became U+FFFD")
        return clean
    if isinstance(value, list):
        return [_storable(item, notes) for item in value]
    if isinstance(value, dict):
        return {_storable(key, notes): _storable(item, notes) for key, item in value.items()}
    return value
