"""Halves of characters beyond the basic plane: JSON can escape them one by one, UTF-8 can't hold them."""

import json
from math import isfinite

import orjson

from registry.messages import Json


def mended(text: str) -> str:
    """The text with matching halves joined and lone ones replaced by U+FFFD; untouched when there are none."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def ends_in_half(text: str) -> bool:
    """Whether the other half of the last character is still to come."""
    return "\ud800" <= text[-1:] <= "\udbff"


def encoded(value: Json) -> bytes:
    """The value as JSON in UTF-8, mended where it must be."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # half a character is the cause, or a whole number beyond 64 bits
        return json.dumps(_mended_within(value), ensure_ascii=False, separators=(",", ":")).encode()


def _mended_within(value: Json) -> Json:
    match value:
        case str():
            return mended(value)
        case list():
            return [_mended_within(item) for item in value]
        case dict():
            return {mended(key): _mended_within(item) for key, item in value.items()}
        case float() if not isfinite(value):
            return None
        case _:
            return value
