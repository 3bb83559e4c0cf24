"""Reads JSON and YAML into plain JSON values, strictly: what one reader would see, every reader sees.

YAML is read without anchors, aliases, tags, merge keys and repeated keys. A plain scalar is what the same characters are in
JSON, and text otherwise: `no` is text, and so are `2026-01-31` and `007`.
"""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, NamedTuple

from planner.files.places import MAX_DEPTH, Outline, Position, UnreadableText
from registry.messages import Json

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_NEWLINE = re.compile(r"\n")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(_INTEGER.pattern + r"(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Mapping[str, Json] = {"true": True, "false": False, "null": None, "~": None, "": None}


class Written(NamedTuple):
    """A value as it was written, and where its parts stand."""

    value: Json
    places: dict[str, Position]


def json_value(text: str) -> Written:
    """The value of a JSON text. Raises `UnreadableText`."""
    outline = _outlined(text)
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_float)
    except json.JSONDecodeError as error:
        raise UnreadableText(f"not JSON: {error.msg}", Position(error.lineno, error.colno)) from error
    return Written(value, outline.places)


def yaml_value(text: str) -> Written:
    """The value of a YAML text. Raises `UnreadableText`."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(type(event).__name__, event)
    except yaml.MarkedYAMLError as error:
        at = _position(error.problem_mark) if error.problem_mark else None
        raise UnreadableText(f"not YAML: {error.problem or error.context}", at) from error
    except yaml.YAMLError as error:
        raise UnreadableText(f"not YAML: {error}") from error
    return Written(builder.root[0] if builder.root else None, builder.outline.places)


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


def _outlined(text: str) -> Outline:
    """The outline of a JSON text, or of what may be none: it is a reader's business to refuse that."""
    outline = Outline()
    starts = [0, *(newline.end() for newline in _NEWLINE.finditer(text))]
    keyed = False
    for token in _TOKEN.finditer(text):
        line = bisect_right(starts, token.start())
        at = Position(line, token.start() - starts[line - 1] + 1)
        match token[0]:
            case "{" | "[":
                outline.enter(at, is_list=token[0] == "[")
                keyed = False
            case "}" | "]":
                outline.leave()
                keyed = False
            case ",":
                keyed = False
            case ":":
                keyed = True
            case name if outline.in_object and not keyed:
                outline.key(_decoded(name), at)
            case _:
                outline.value(at)
    return outline


def _decoded(name: str) -> str:
    """What a key says. One that can't be read is taken as it stands."""
    if "\\" not in name:
        return name.strip('"')
    try:
        return str(json.loads(name))
    except ValueError:
        return name


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
        self.outline = Outline()
        self._open: list[list[Json] | dict[str, Json]] = []
        self._keys: list[str | None] = []

    def take(self, kind: str, event: Any) -> None:
        """The next event. Raises `UnreadableText`."""
        match kind:
            case "AliasEvent":
                raise _at(event, f"the alias *{event.anchor} is not allowed: write the value out")
            case "ScalarEvent":
                self._refuse_marks(event)
                if self._awaits_key():
                    self._keys[-1] = self._key(event)
                else:
                    self.outline.value(_position(event.start_mark))
                    self._add(event.value if event.style else _unquoted(event))
            case "MappingStartEvent" | "SequenceStartEvent":
                self._refuse_marks(event)
                self._enter(event, {} if kind == "MappingStartEvent" else [])
            case "MappingEndEvent" | "SequenceEndEvent":
                self._open.pop()
                self._keys.pop()
                self.outline.leave()
            case "DocumentStartEvent" if self.root:
                raise _at(event, "a second document is not allowed")

    def _refuse_marks(self, event: Any) -> None:
        if event.anchor:
            raise _at(event, f"the anchor &{event.anchor} is not allowed: write the value out where it is used")
        if event.tag:
            raise _at(event, f"the tag {event.tag} is not allowed: write plain values")

    def _awaits_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1], dict) and self._keys[-1] is None

    def _key(self, event: Any) -> str:
        if event.value == "<<" and not event.style:
            raise _at(event, "the merge key << is not allowed: write the fields out")
        self.outline.key(event.value, _position(event.start_mark))
        return str(event.value)

    def _enter(self, event: Any, value: list[Json] | dict[str, Json]) -> None:
        if self._awaits_key():
            raise _at(event, "a key must be a text")
        self.outline.enter(_position(event.start_mark), is_list=isinstance(value, list))
        self._add(value)
        self._open.append(value)
        self._keys.append(None)

    def _add(self, value: Json) -> None:
        inner = self._open[-1] if self._open else self.root
        if isinstance(inner, list):
            inner.append(value)
        else:
            key = self._keys[-1]
            assert key is not None
            inner[key] = value
            self._keys[-1] = None


def _unquoted(event: Any) -> Json:
    try:
        return plain(event.value)
    except UnreadableText as unreadable:
        raise _at(event, unreadable.why) from unreadable


def _position(mark: Any) -> Position:
    return Position(mark.line + 1, mark.column + 1)


def _at(event: Any, why: str) -> UnreadableText:
    return UnreadableText(why, _position(event.start_mark))
