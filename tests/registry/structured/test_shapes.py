"""A schema is told to models, and checks what they answer."""

import pytest
from pydantic import BaseModel, TypeAdapter

from registry.structured.shapes import Unfit, shape_of


class Node(BaseModel):
    name: str
    children: "list[Node]" = []


class Strict(BaseModel, strict=True):
    pair: tuple[int, int]


def test_a_type_has_one_shape():
    """Shapes of types are made once, so tool specs stay the same."""
    assert shape_of(Node) is shape_of(Node)


def test_a_recursive_model_is_an_object_at_its_root():
    """Tools need an object schema, even where pydantic writes a reference."""
    shape = shape_of(Node)

    assert "object" == shape.boxed["type"]
    assert Node(name="a", children=[Node(name="b")]) == shape.fit({"name": "a", "children": [{"name": "b"}]}).value


@pytest.mark.parametrize("value", [{"value": [{"name": "a"}]}, [{"name": "a"}]])
def test_a_list_is_taken_in_its_box_and_out_of_it(value):
    """The box keeps the definitions at its root, and the list inside is what counts."""
    shape = shape_of(TypeAdapter(list[Node]))

    assert ["value"] == list(shape.boxed["properties"])
    assert "Node" in shape.boxed["$defs"]
    assert [Node(name="a")] == shape.fit(value).value


def test_strict_models_take_what_json_can_say():
    """A tuple arrives as a list, which a strict model would refuse from Python."""
    assert Strict(pair=(1, 2)) == shape_of(Strict).fit({"pair": [1, 2]}).value


def test_many_faults_are_told_briefly():
    """Five faults are named; the others are counted."""
    schema = {"properties": {f"f{n}": {"type": "integer"} for n in range(7)}}

    with pytest.raises(Unfit, match=r"f0: 'x' is not.*f4.*; and 2 more$"):
        shape_of(schema).fit({f"f{n}": "x" for n in range(7)})


def test_a_conversion_that_does_not_help_is_not_mentioned():
    """The fault that is told is that of the value as it came."""
    with pytest.raises(Unfit, match="'12' is not of type 'integer'"):
        shape_of({"properties": {"n": {"type": "integer", "maximum": 3}}}).fit({"n": "12"})
