"""What a schema says of parts of its values."""

import pytest

from planner.check.schemas import Lacking, at_path, json_types, types_of

BOATS = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "sizes": {"type": "array", "items": {"type": "number"}},
        "pair": {"prefixItems": [{"type": "string"}], "items": False},
        "owner": {"$ref": "#/$defs/owner"},
        "port": {"anyOf": [{"type": "object", "properties": {"town": {"type": "string"}}}, {"type": "null"}]},
        "notes": {"type": "object"},
        "tags": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "closed": {"type": "object", "additionalProperties": False},
    },
    "$defs": {"owner": {"type": "object", "properties": {"age": {"type": "integer"}, "self": {"$ref": "#/$defs/owner"}}}},
}


@pytest.mark.parametrize(
    ("path", "types"),
    [
        pytest.param(("name",), {"string"}, id="property"),
        pytest.param(("sizes",), {"array"}, id="list"),
        pytest.param(("sizes", 3), {"number", "integer"}, id="item"),
        pytest.param(("pair", 0), {"string"}, id="first item"),
        pytest.param(("owner", "self", "age"), {"integer"}, id="references, in circles too"),
        pytest.param(("port", "town"), {"string"}, id="one of several"),
        pytest.param(("notes", "any", 1, "thing"), set(), id="open"),
        pytest.param(("tags", "x"), {"boolean"}, id="any name"),
        pytest.param((), {"object"}, id="the whole"),
    ],
)
def test_parts(path, types):
    """A path leads to a schema; where nothing is said anything may come."""
    assert types == types_of(at_path(BOATS, path), BOATS)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        pytest.param(("nme",), "there is no 'nme'; did you mean 'name'?", id="no property"),
        pytest.param(("name", "x"), "there is no 'x' in string", id="of a text"),
        pytest.param(("owner", 0), "there is no [0] in object", id="no list"),
        pytest.param(("pair", 1), "there is no [1]", id="beyond the items"),
        pytest.param(("port", "city"), "there is no 'city'", id="in none of several"),
        pytest.param(("closed", "x"), "there is no 'x'", id="closed"),
    ],
)
def test_lacking(path, why):
    """What no value can have is said to be lacking."""
    found = at_path(BOATS, path)

    assert isinstance(found, Lacking)
    assert found.why.startswith(why)
    assert frozenset() == types_of(found, BOATS)


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        pytest.param({"const": 1}, {"integer", "number"}, id="constant"),
        pytest.param({"enum": ["a", None]}, {"string", "null"}, id="choice"),
        pytest.param({"type": ["string", "null"]}, {"string", "null"}, id="two types"),
        pytest.param({"anyOf": [{"type": "string"}, {}]}, set(), id="anything among others"),
        pytest.param({"$ref": "#"}, set(), id="endless"),
        pytest.param({"$ref": "http://elsewhere.example"}, set(), id="elsewhere"),
    ],
)
def test_types(schema, types):
    """The types that values may have, none where the schema does not say."""
    assert types == types_of(schema, schema)


@pytest.mark.parametrize(
    ("value", "types"),
    [
        (True, {"boolean"}),
        (1, {"integer", "number"}),
        (1.5, {"number"}),
        ("x", {"string"}),
        ([], {"array"}),
        ({}, {"object"}),
        (None, {"null"}),
    ],
)
def test_values(value, types):
    """What a JSON value is; true is no number."""
    assert types == json_types(value)
