"""Reads JSON and YAML into plain JSON values, strictly: what one reader would see, every reader sees.

YAML is read without anchors, aliases, tags, merge keys and repeated keys. A plain scalar is what the same characters are in
JSON, and text otherwise: `no` is text, and so are `2026-01-31` and `007`.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from registry.messages import Json

MAX_BYTES = 1_000_000
MAX_DEPTH = 64

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(_INTEGER.pattern + r"(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Mapping[str, Json] = {"true": True, "false": False, "null": None, "~": None, "": None}


class UnreadableText(ValueError):
    """The text is not JSON or YAML as we take it; the sentence says where and why."""


def json_value(text: str) -> Json:
    """The value of a JSON text. Raises `UnreadableText`."""
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_float
        )
    except json.JSONDecodeError as error:
        raise UnreadableText(f"line {error.lineno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise UnreadableText(_TOO_DEEP) from error
    if too_deep(value):
        raise UnreadableText(_TOO_DEEP)
    return value


def yaml_value(text: str) -> Json:
    """The value of a YAML text. Raises `UnreadableText`."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(type(event).__name__, event)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UnreadableText(f"{line}not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise UnreadableText(f"not YAML: {error}") from error
    return builder.root[0] if builder.root else None


def plain(text: str) -> Json:
    """What an unquoted scalar means. Raises `UnreadableText` for a number that can't be held."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return _integer(text)
    return _float(text) if _NUMBER.fullmatch(text) else text


def too_deep(value: Json) -> bool:
    """Whether lists and objects are nested deeper than a plan may be."""
    layer = [value]
    for _ in range(MAX_DEPTH + 1):
        layer = [inner for outer in layer for inner in _inside(outer)]
        if not layer:
            return False
    return True


def _inside(value: Json) -> list[Json]:
    match value:
        case Mapping():
            return list(value.values())
        case list() | tuple():
            return list(value)
        case _:
            return []


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise UnreadableText(f"the key {key!r} is there twice in one object")
        found[key] = value
    return found


def _refuse_constant(name: str) -> Json:
    raise UnreadableText(f"{name} is not JSON")


def _integer(text: str) -> int:
    if len(text) > 1000:
        raise UnreadableText(f"a number of {len(text)} digits is too long")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise UnreadableText(f"the number {text} is too large")
    return value


class _Builder:
    """Builds one value from YAML events. `root` holds it once it is whole."""

    def __init__(self) -> None:
        self.root: list[Json] = []
        self._open: list[list[Json] | dict[str, Json]] = []
        self._keys: list[str | None] = []

    def take(self, kind: str, event: Any) -> None:
        """The next event. Raises `UnreadableText`."""
        match kind:
            case "AliasEvent":
                raise _at(event, f"the alias *{event.anchor} is not allowed: write the value out")
            case "ScalarEvent":
                self._refuse_marks(event)
                self._add(event, event.value if event.style else _unquoted(event))
            case "MappingStartEvent" | "SequenceStartEvent":
                self._refuse_marks(event)
                self._enter(event, {} if kind == "MappingStartEvent" else [])
            case "MappingEndEvent" | "SequenceEndEvent":
                self._open.pop()
                self._keys.pop()
            case "DocumentStartEvent" if self.root:
                raise _at(event, "a second document is not allowed")

    def _refuse_marks(self, event: Any) -> None:
        if event.anchor:
            raise _at(event, f"the anchor &{event.anchor} is not allowed: write the value out where it is used")
        if event.tag:
            raise _at(event, f"the tag {event.tag} is not allowed: write plain values")

    def _enter(self, event: Any, value: list[Json] | dict[str, Json]) -> None:
        self._add(event, value)
        if len(self._open) >= MAX_DEPTH:
            raise _at(event, _TOO_DEEP)
        self._open.append(value)
        self._keys.append(None)

    def _add(self, event: Any, value: Json) -> None:
        inner = self._open[-1] if self._open else self.root
        if isinstance(inner, list):
            inner.append(value)
        elif (key := self._keys[-1]) is None:
            self._keys[-1] = _key(event, inner)
        else:
            inner[key] = value
            self._keys[-1] = None


def _key(event: Any, fields: Mapping[str, Json]) -> str:
    key = getattr(event, "value", None)
    if not isinstance(key, str):
        raise _at(event, "a key must be a text")
    if key == "<<" and not event.style:
        raise _at(event, "the merge key << is not allowed: write the fields out")
    if key in fields:
        raise _at(event, f"the key {key!r} is there twice")
    return key


def _unquoted(event: Any) -> Json:
    try:
        return plain(event.value)
    except UnreadableText as unreadable:
        raise _at(event, str(unreadable)) from unreadable


def _at(event: Any, why: str) -> UnreadableText:
    return UnreadableText(f"line {event.start_mark.line + 1}: {why}")
