"""JSON as endpoints send it: read whole, exact where that matters, and not deeper than it can be written again."""

import json

import orjson

from registry.errors import Garbled
from registry.messages import Json
from registry.wire.faults import looks_like_html, readable

_LONG_NUMBER = b"0" * 19
_ALL_DIGITS_NOUGHT = bytes.maketrans(b"123456789", b"000000000")
_BEFORE_A_NUMBER = b" \t\n\r:,[-"

DEEPEST = 250
"""Levels of nesting beyond which JSON is not read: no writer of JSON that we have would get it out again."""


def decoded(data: bytes, endpoint: str) -> Json:
    """The JSON value; Garbled when it is none, or too deep. Half characters in escapes are let through, to be mended later."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _decoded_leniently(data, endpoint)
    if (b"_call" in data or b"tool_use" in data) and _has_long_number(data):
        # The fast reader rounds whole numbers beyond 64 bits, and what a tool is given must be exact.
        value = _decoded_leniently(data, endpoint)
    if len(data) > 2 * DEEPEST and data.count(b"[") + data.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
        raise _garbled(data, endpoint)
    return value


def _has_long_number(data: bytes) -> bool:
    """Whether a long row of digits is a number; one in an id is not."""
    rows = data.translate(_ALL_DIGITS_NOUGHT)
    place = rows.find(_LONG_NUMBER)
    while place >= 0 and rows[place - 1] not in _BEFORE_A_NUMBER:
        place = rows.find(_LONG_NUMBER, place + len(_LONG_NUMBER))
    return place >= 0


def _decoded_leniently(data: bytes, endpoint: str) -> Json:
    try:
        return json.loads(data.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError):
        raise _garbled(data, endpoint) from None


def _garbled(data: bytes, endpoint: str) -> Garbled:
    hint = "; does the base URL lack its path, such as /v1?" if looks_like_html(data) else ""
    return Garbled(endpoint, f"{readable(data) or 'an empty body'}{hint}")


def _depth(value: Json) -> int:
    """How many containers stand one inside the other."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return depth
