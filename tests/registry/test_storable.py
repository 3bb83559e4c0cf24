"""What can be written down, and what is said of the rest."""

import threading
from decimal import Decimal

import pytest
from msgspec.structs import replace
from pydantic import BaseModel

from registry.messages import Json, Reply
from registry.storable import unstorable
from registry.tools.tool import Observation

DEEP: Json = []
for _ in range(120):
    DEEP = [DEEP]

SEEN = Observation(call_id="1", name="n", text="x", data={"n": [1, 2.5, None, True, "é"]})


class Place(BaseModel):
    name: str
    args: dict[str, Json]


PLACE = Place(name="here", args={"n": 1})


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"n": [1, 2.5, None, True, "é", {}], "m": ()}, id="JSON"),
        pytest.param(2**80, id="a large number"),
        pytest.param(SEEN, id="a value of ours"),
        pytest.param(PLACE, id="a model"),
        pytest.param(Reply(text="x"), id="money in a value of ours"),
    ],
)
def test_what_can_be_stored(value: object) -> None:
    """JSON, and our own values made of it."""
    assert unstorable(value, "x") is None


@pytest.mark.parametrize(
    ("value", "found"),
    [
        pytest.param({"client": threading.Lock(), "n": 1}, "x.client is a lock, which can't be stored", id="a lock"),
        pytest.param({"a": [1, {"b": object()}]}, "x.a[1].b is a object, which can't be stored", id="deep inside"),
        pytest.param([float("nan")], "x[0] is nan, which is no number in JSON", id="not a number"),
        pytest.param([float("-inf")], "x[0] is -inf, which is no number in JSON", id="infinite"),
        pytest.param("\ud800", "x is text with half a character in it", id="half a character"),
        pytest.param({"\ud800": 1}, "x is a dict, which can't be stored", id="half a character in a key"),
        pytest.param({1: 2}, "x is a dict, which can't be stored", id="a key that is no text"),
        pytest.param({1, 2}, "x is a set, which can't be stored", id="a set"),
        pytest.param(b"x", "x is a bytes, which can't be stored", id="bytes"),
        pytest.param(Decimal(1), "x is a Decimal, which can't be stored", id="decimal"),
        pytest.param(Place, "x is a ModelMetaclass, which can't be stored", id="a class"),
        pytest.param(Observation, "x is a StructMeta, which can't be stored", id="a class of values"),
        pytest.param(replace(SEEN, data={"c": open}), "x.data.c is a builtin_function_or_method", id="in a value of ours"),
        pytest.param(replace(SEEN, text=5), "x.text is not what it must be: Expected `str`, got `int`", id="a wrong type"),
        pytest.param(PLACE.model_copy(update={"name": None}), "x.name is not what it must be", id="nothing where text is due"),
        pytest.param(PLACE.model_copy(update={"args": {"c": object()}}), "x.args.c is a object", id="in a model"),
    ],
)
def test_what_cannot_be_stored(value: object, found: str) -> None:
    """The sentence names the place and what stands there."""
    assert (unstorable(value, "x") or "").startswith(found)


def test_endless_values_end() -> None:
    """What holds itself is as deep as it gets."""
    value: list[Json] = []
    value.append(value)

    assert (unstorable(value, "x") or "").endswith("is nested deeper than 100 levels")
    assert (unstorable(DEEP, "x") or "").endswith("is nested deeper than 100 levels")
