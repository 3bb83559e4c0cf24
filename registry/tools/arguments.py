"""From the arguments as a model wrote them to arguments that a tool can take."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from registry.errors import BadArguments, ToolFailed
from registry.messages import Json, Schema, ToolSpec
from registry.structured.decoding import NOT_NUMBERS, Decoded, decode_at
from registry.structured.mending import repunctuated
from registry.structured.spans import value_span

SHOWN_ERRORS = 5
"""How many wrong fields one error tells of."""

_SHOWN_VALUE = 80
_PREFIXES = ("functions.", "function.", "tools.", "tool.", "default_api.")
_NOTHING = ("", "{}")
# What may follow the object: stray brackets and prose, but nothing that could be a second object or a lost member.
_HARMLESS_END = re.compile(r"""(?! [\s}\]]* [,:'“] ) [^{\["]*""", re.VERBOSE)


def canonical_name(name: str) -> str:
    """The tool's own name, without the prefix that some models put before it (`functions.search`)."""
    name = name.strip()
    return name.partition(".")[2] if name.startswith(_PREFIXES) else name


def read_arguments(spec: ToolSpec, text: str) -> dict[str, Json]:
    """The JSON object in the text of a call. Raises `BadArguments`; whether it fits the schema is not asked yet.

    No text means no arguments. Comments, trailing commas, stray escapes and the like are mended, and Python's quotes and words
    are read. An object that was encoded twice, whole or in a member that must be an object or an array, is decoded twice.
    """
    if text in _NOTHING or text.isspace():
        return {}
    found = _decoded(spec.name, text)
    if isinstance(found, str):
        found = _decoded(spec.name, found)
    if not isinstance(found, dict):
        raise BadArguments(spec.name, f"they must be a JSON object, but are {_kind(found)}: {shortened(text)}")
    properties = spec.parameters.get("properties", {})
    for name, value in found.items():
        if isinstance(value, str) and value[:1] in ("{", "["):
            found[name] = _unpacked(value, properties.get(name))
    return found


def check_arguments(spec: ToolSpec, args: Mapping[str, Json]) -> None:
    """Hold the arguments against the tool's JSON Schema. Raises `BadArguments` that names each wrong field.

    `ToolFailed` when the schema itself is unusable; what it refers to elsewhere is never fetched.
    """
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    try:
        found = list(_finder(spec)(dict(args)))
    except (SchemaError, Unresolvable) as error:
        why = getattr(error, "message", str(error))
        raise ToolFailed(spec.name, f"its own schema can't be used: {shortened(why)}") from error
    if found:
        told = (_sentence(field_name(error.absolute_path), error.message) for error in found[:SHOWN_ERRORS])
        raise BadArguments(spec.name, "; ".join(told))


def field_name(path: Iterable[str | int]) -> str:
    """`items[0].id` for the path `items`, 0, `id`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def shortened(text: str, limit: int = _SHOWN_VALUE) -> str:
    """The text, or as much of it as belongs in an error's sentence."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def _sentence(where: str, message: str) -> str:
    said = shortened(message, 3 * _SHOWN_VALUE)
    return f"{where}: {said}" if where else said


@lru_cache(maxsize=1024)
def _finder(spec: ToolSpec) -> Callable[[Json], Iterable[Any]]:
    """Finds everything wrong with arguments, as errors of jsonschema's."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    from referencing import Registry

    schema = dict(spec.parameters)
    kind = validator_for(schema, default=Draft202012Validator)
    kind.check_schema(schema)
    return kind(schema, registry=Registry()).iter_errors


def _decoded(tool: str, text: str) -> Json:
    start = len(text) - len(text.removeprefix("\ufeff").lstrip())
    try:
        found = _value(text, start)
    except json.JSONDecodeError as error:
        raise BadArguments(tool, f"they are not JSON: {error.msg} at character {error.pos + 1}: {shortened(text)}") from error
    except (ValueError, RecursionError) as error:
        raise BadArguments(tool, f"they are not JSON: {error}: {shortened(text)}") from error
    if not _HARMLESS_END.fullmatch(text, found.end):
        raise BadArguments(tool, f"more follows the JSON object: {shortened(text[found.end :].strip())}")
    return found.value


def _value(text: str, start: int) -> Decoded:
    """The value that begins at `start`. Of an object, punctuation, quotes and Python's words are put right, and nothing else."""
    try:
        return _strict_value(text, start)
    except json.JSONDecodeError:
        span = value_span(text, start) if text.startswith("{", start) else None
        meant = None if span is None else repunctuated(text, span)
        if span is None or meant is None:
            raise
        return replace(_with_numbers(meant), end=span.end)


def _strict_value(text: str, start: int) -> Decoded:
    # Raw line breaks inside strings are let through: models write code so, and it can be read in one way only.
    if text.isascii() and "\0" not in text and "\\u" not in text:
        try:
            return Decoded(*_PLAIN.raw_decode(text, start))
        except _Odd:
            pass
    return _with_numbers(decode_at(text, start, control_characters=True))


class _Odd(Exception):
    """There is something in the value that `decode_at` has to look at."""


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Odd
    return found


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _Odd
    return number


_PLAIN = json.JSONDecoder(object_pairs_hook=_members, parse_float=_number, parse_constant=_number, strict=False)
"""Made once: to make one costs more than to read arguments with it, and nearly all are as plain as this."""


def _with_numbers(found: Decoded) -> Decoded:
    """What was decoded, unless a number in it could not be kept: an argument is not made null."""
    for name, note in NOT_NUMBERS.items():
        if note in found.notes:
            raise ValueError(f"{name} is no JSON number")
    return found


def _unpacked(text: str, schema: Schema | None) -> Json:
    """The object or array that the text encodes, where the schema wants one and no text; otherwise the text."""
    wanted = _types(schema or {})
    if "string" in wanted or not wanted & {"object", "array"}:
        return text
    try:
        found = _strict_value(text, 0)
    except (ValueError, RecursionError):
        return text
    whole = not text[found.end :].strip()
    return found.value if whole and _kind(found.value).split()[-1] in wanted else text


def _types(schema: Schema) -> set[str]:
    named = schema.get("type", ())
    members = (_types(member) for member in schema.get("anyOf", ()) if isinstance(member, Mapping))
    return {named} if isinstance(named, str) else set(named).union(*members)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
        case _:
            return "a number"
