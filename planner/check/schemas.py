"""What a JSON Schema says of a part of its values, before there are any. Where it leaves open what may come, nothing lacks."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from registry.errors import there_are
from registry.messages import Json, Schema

ANYTHING: Schema = {}
"""The schema of what nobody has said anything about."""

_MOST_HOPS = 8
_TYPES: Mapping[type, frozenset[str]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    str: frozenset({"string"}),
    list: frozenset({"array"}),
    tuple: frozenset({"array"}),
    dict: frozenset({"object"}),
    type(None): frozenset({"null"}),
}


class Lacking(Struct, frozen=True):
    """There is no such part, and why not."""

    why: str


def at_path(schema: Schema, path: Iterable[str | int]) -> Schema | Lacking:
    """The schema of what the path leads to in values of this schema."""
    whole = found = schema
    for key in path:
        parts = [_part(one, key) for one in _alternatives(found, whole)]
        open_ways = [part for part in parts if not isinstance(part, Lacking)]
        if not open_ways:
            return parts[0]
        found = open_ways[0] if len(open_ways) == 1 else {"anyOf": open_ways}
    return _followed(found, whole) if "$ref" in found else found


def types_of(schema: Schema | Lacking, whole: Schema) -> frozenset[str]:
    """The names of the types that values of the schema may have; none where it does not say. Integers are numbers too."""
    if isinstance(schema, Lacking):
        return frozenset()
    found: set[str] = set()
    for one in _alternatives(schema, whole):
        types = _types(one)
        if not types:
            return frozenset()
        found |= types
    return frozenset(found | {"integer"} if "number" in found else found)


def json_types(value: Json) -> frozenset[str]:
    """The names of the types that a JSON value has."""
    return _TYPES.get(type(value), frozenset())


def _types(schema: Schema) -> frozenset[str]:
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return frozenset[str]().union(*map(json_types, values))
    said = schema.get("type", ())
    return frozenset([said] if isinstance(said, str) else said)


def _alternatives(schema: Schema, whole: Schema) -> list[Schema]:
    """The schemas of which a value fits one, their references followed."""
    schema = _followed(schema, whole)
    several = schema.get("anyOf") or schema.get("oneOf")
    if not several or "type" in schema or "properties" in schema:
        return [schema]
    return [_followed(one, whole) for one in several]


def _followed(schema: Schema, whole: Schema) -> Schema:
    for _ in range(_MOST_HOPS):
        target = schema.get("$ref")
        if not isinstance(target, str):
            return schema
        found: Json = whole if target.startswith("#") else ANYTHING
        for key in target.removeprefix("#").strip("/").split("/"):
            found = found.get(key, ANYTHING) if isinstance(found, Mapping) and key else found
        schema = found if isinstance(found, Mapping) else ANYTHING
    return ANYTHING


def _part(schema: Schema, key: str | int) -> Schema | Lacking:
    types = _types(schema)
    if isinstance(key, int):
        if types and "array" not in types:
            return Lacking(f"there is no [{key}] in {_listed(types)}")
        prefix, rest = schema.get("prefixItems", ()), schema.get("items", ANYTHING)
        return _schema(prefix[key] if key < len(prefix) else rest, f"there is no [{key}]")
    if types and "object" not in types:
        return Lacking(f"there is no {key!r} in {_listed(types)}")
    named = schema.get("properties", {})
    if key in named:
        return _schema(named[key], f"there is no {key!r}")
    rest = schema.get("additionalProperties", not named)
    if "patternProperties" in schema or "allOf" in schema:
        return ANYTHING
    return _schema(rest, f"there is no {key!r}; {there_are(key, named)}")


def _schema(found: Json, why: str) -> Schema | Lacking:
    """A schema may be written as true or false."""
    if found is False:
        return Lacking(why)
    return found if isinstance(found, Mapping) else ANYTHING


def _listed(types: Iterable[str]) -> str:
    return " or ".join(sorted(types))
