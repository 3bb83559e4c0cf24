"""A value bent to a schema where that loses nothing: digits written as text, JSON inside a string, one item for a list."""

from collections.abc import Mapping
from typing import Any

from registry.messages import Json, Schema
from registry.structured.decoding import decode

_PYTHON_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "array": list,
    "object": dict,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def coerced(value: Json, schema: Schema, root: Schema | None = None) -> Json:
    """`value` with every losslessly convertible part converted to what `schema` wants; the rest as it was.

    Nothing here validates: the caller does, before and after. `root` is where `$ref` looks, `schema` itself by default.
    """
    root = schema if root is None else root
    wanted = plain_schema(schema, root)
    value = _retyped(value, wanted.get("type"))
    if isinstance(value, dict):
        fields = wanted.get("properties", {})
        return {key: coerced(item, fields[key], root) if key in fields else item for key, item in value.items()}
    items = wanted.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        return [coerced(item, items, root) for item in value]
    return value


def plain_schema(schema: Json, root: Schema) -> Schema:
    """`schema` behind its local `$ref`s and beside `null`; an empty schema where it is neither plain nor nullable."""
    for _ in range(16):
        if not isinstance(schema, Mapping):
            return {}
        options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
        if "$ref" in schema:
            schema = _referred(schema["$ref"], root)
        elif len(options) == 1:
            schema = options[0]
        else:
            return schema
    return {}


def _referred(reference: str, root: Schema) -> Json:
    found: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        found = found.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, Mapping) else {}
    return found


def _retyped(value: Json, wanted: Json) -> Json:
    if wanted == "array" and isinstance(value, dict):
        return [value]
    if not isinstance(wanted, str) or wanted not in _PYTHON_TYPES or not isinstance(value, str):
        return value
    try:
        decoded = decode(value).value
    except ValueError:
        return value
    fits = isinstance(decoded, _PYTHON_TYPES[wanted]) and (wanted == "boolean") == isinstance(decoded, bool)
    return decoded if fits else value
