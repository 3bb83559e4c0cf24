"""Values are bent to a schema only where nothing is lost."""

import pytest

from registry.structured.coercion import coerced

INTEGER, LIST, OBJECT = {"type": "integer"}, {"type": "array", "items": {"type": "integer"}}, {"type": "object"}


@pytest.mark.parametrize(
    ("value", "schema", "bent"),
    [
        pytest.param("12", INTEGER, 12, id="integer"),
        pytest.param("12.5", INTEGER, "12.5", id="not-an-integer"),
        pytest.param("true", INTEGER, "true", id="boolean-is-no-integer"),
        pytest.param("0.1", {"type": "number"}, 0.1, id="number"),
        pytest.param("true", {"type": "boolean"}, True, id="boolean"),
        pytest.param("1", {"type": "boolean"}, "1", id="one-is-not-true"),
        pytest.param("[1]", LIST, [1], id="list-in-a-string"),
        pytest.param('["1"]', LIST, [1], id="both-at-once"),
        pytest.param("a, b", LIST, "a, b", id="no-splitting"),
        pytest.param({"a": 1}, LIST, [{"a": 1}], id="one-for-a-list"),
        pytest.param('{"a": 1}', OBJECT, {"a": 1}, id="object-in-a-string"),
        pytest.param({"n": "1", "m": "1"}, {"properties": {"n": INTEGER}}, {"n": 1, "m": "1"}, id="fields"),
        pytest.param("1", {"anyOf": [INTEGER, {"type": "null"}]}, 1, id="nullable"),
        pytest.param("1", {"anyOf": [INTEGER, {"type": "string"}]}, "1", id="a-choice-is-left-alone"),
        pytest.param(["1"], {"items": {"$ref": "#/$defs/n"}, "$defs": {"n": INTEGER}}, [1], id="reference"),
        pytest.param("1", {"$ref": "#"}, "1", id="endless-reference"),
        pytest.param("1", {"$ref": "#/nowhere/at/all"}, "1", id="dangling-reference"),
        pytest.param("1", {"type": ["integer", "string"]}, "1", id="several-types"),
    ],
)
def test_only_lossless_conversions_are_made(value, schema, bent):
    """What would need a guess stays as it was."""
    assert bent == coerced(value, schema)
