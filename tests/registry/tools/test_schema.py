"""Schemas made plain."""

from typing import Any

import pytest
from pydantic import BaseModel

from registry.tools.schema import plain_schema


class Leaf(BaseModel):
    title: str = "untitled"


class Pair(BaseModel):
    left: Leaf
    right: Leaf | None = None


class Tree(BaseModel):
    leaf: Leaf
    children: list["Tree"] = []


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        pytest.param({"title": "X", "type": "string"}, {"type": "string"}, id="title"),
        pytest.param(
            {"properties": {"title": {"type": "string", "title": "Title"}}},
            {"properties": {"title": {"type": "string"}}},
            id="a property named title",
        ),
        pytest.param({"default": {"title": "kept"}}, {"default": {"title": "kept"}}, id="a title in a default"),
        pytest.param(
            {"$defs": {"A": {"type": "string", "title": "A"}}, "properties": {"a": {"$ref": "#/$defs/A", "description": "mine"}}},
            {"properties": {"a": {"type": "string", "description": "mine"}}},
            id="a reference keeps what stands beside it",
        ),
        pytest.param({"$ref": "other.json"}, {"$ref": "other.json"}, id="a reference elsewhere"),
    ],
)
def test_plain(schema: dict[str, Any], plain: dict[str, Any]) -> None:
    """Titles go and references are written out; data and names are left alone."""
    assert plain == plain_schema(schema)


def test_definitions_used_twice_are_written_out() -> None:
    """Without a circle nothing is left to look up."""
    plain = plain_schema(Pair.model_json_schema())

    assert "$defs" not in plain
    assert plain["properties"]["left"] == plain["properties"]["right"]["anyOf"][0]


def test_only_circles_stay_definitions() -> None:
    """A type that contains itself stays a reference, the types that it uses do not."""
    plain = plain_schema(Tree.model_json_schema())

    assert list(plain["$defs"]) == ["Tree"]
    assert plain["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert plain["$defs"]["Tree"]["properties"]["leaf"]["properties"]["title"]["type"] == "string"
