"""JSON Schema as models read it best: plain, with nothing to look up elsewhere."""

from collections.abc import Iterator

from registry.messages import Json, Schema

_DEFS = "#/$defs/"
_OF_DATA = frozenset({"default", "const", "enum", "examples", "required"})
_OF_NAMES = frozenset({"properties", "patternProperties"})
_NOISE = frozenset({"$defs", "title", "discriminator"})


def plain_schema(schema: Schema) -> dict[str, Json]:
    """The same schema without titles, each reference replaced by what it points to.

    A definition that refers to itself can't be written out, so it stays in `$defs`.
    """
    defs: dict[str, Json] = dict(schema.get("$defs", {}))
    circular = {name for name in defs if name in _reached(defs[name], defs)}
    plain: dict[str, Json] = _plain(dict(schema), defs, circular)
    if circular:
        plain["$defs"] = {name: _plain(defs[name], defs, circular) for name in defs if name in circular}
    return plain


def _plain(schema: Json, defs: dict[str, Json], circular: set[str]) -> Json:
    match schema:
        case list():
            return [_plain(member, defs, circular) for member in schema]
        case {"$ref": str(ref), **beside} if (name := ref.removeprefix(_DEFS)) in defs and name not in circular:
            return _plain({**defs[name], **beside}, defs, circular)
        case dict():
            return {key: _plain_part(key, part, defs, circular) for key, part in schema.items() if key not in _NOISE}
        case _:
            return schema


def _plain_part(key: str, part: Json, defs: dict[str, Json], circular: set[str]) -> Json:
    if key in _OF_DATA:
        return part
    if key in _OF_NAMES:
        return {name: _plain(member, defs, circular) for name, member in part.items()}
    return _plain(part, defs, circular)


def _reached(schema: Json, defs: dict[str, Json]) -> set[str]:
    """The definitions that this schema leads to, however far."""
    reached: set[str] = set()
    ahead = list(_refs(schema))
    while ahead:
        name = ahead.pop()
        if name in defs and name not in reached:
            reached.add(name)
            ahead.extend(_refs(defs[name]))
    return reached


def _refs(schema: Json) -> Iterator[str]:
    if isinstance(schema, list):
        for member in schema:
            yield from _refs(member)
    elif isinstance(schema, dict):
        if isinstance(ref := schema.get("$ref"), str):
            yield ref.removeprefix(_DEFS)
        for part in schema.values():
            yield from _refs(part)
