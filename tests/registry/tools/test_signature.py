"""Functions' parameters: shown as JSON Schema, read strictly."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from registry.calls import Call
from registry.errors import BadArguments, ConfigurationError
from registry.tools.signature import Signature


class Colour(Enum):
    RED = "red"


class Place(BaseModel):
    name: str
    height: float = 0.0


def everything(
    text: str,
    number: float = 1.5,
    count: Annotated[int, Field(ge=1, description="how many")] = 1,
    sure: bool = False,
    colour: Colour = Colour.RED,
    mood: Literal["calm", "wild"] = "calm",
    day: date | None = None,
    places: list[Place] | None = None,
    where: Path = Path(),
    token: object = object(),
    json: str = "",
) -> None: ...


SIGNATURE = Signature("everything", everything, {"text": "some words", "count": "not this"})


def test_schema_is_plain() -> None:
    """Types, defaults, limits and descriptions show; titles and references don't; nothing else may be sent."""
    properties = SIGNATURE.schema["properties"]

    assert tuple(SIGNATURE.schema[key] for key in ("type", "required", "additionalProperties")) == ("object", ["text"], False)
    assert properties["text"] == {"type": "string", "description": "some words"}
    assert properties["count"] == {"type": "integer", "minimum": 1, "default": 1, "description": "how many"}
    assert properties["mood"] == {"type": "string", "enum": ["calm", "wild"], "default": "calm"}
    assert properties["colour"] == {"type": "string", "enum": ["red"], "default": "red"}
    assert "name" in properties["places"]["anyOf"][0]["items"]["properties"]
    assert "default" not in properties["token"]


def test_who_describes_a_parameter() -> None:
    """Its own words come first, then the function's docstring, then what is said of its type."""

    class Spot(BaseModel):
        """Somewhere."""

        name: str

    def travel(
        start: Spot, goal: Spot, over: Annotated[Spot, Field(description="what lies between")], back: Spot | None = None
    ) -> None: ...

    schema = Signature("travel", travel, {"goal": "where to", "over": "not this", "back": "if at all"}).schema

    assert {"start": "Somewhere.", "goal": "where to", "over": "what lies between", "back": "if at all"} == {
        name: member["description"] for name, member in schema["properties"].items()
    }


@pytest.mark.parametrize(
    ("name", "sent", "read"),
    [
        pytest.param("number", 2, 2.0, id="int for float"),
        pytest.param("count", 2**70, 2**70, id="a long int"),
        pytest.param("sure", True, True, id="bool"),
        pytest.param("colour", "red", Colour.RED, id="enum"),
        pytest.param("day", "2026-02-03", date(2026, 2, 3), id="date"),
        pytest.param("day", None, None, id="null"),
        pytest.param("places", [{"name": "K2"}], [Place(name="K2")], id="models"),
        pytest.param("where", "a/b", Path("a/b"), id="path"),
        pytest.param("json", "{}", "{}", id="a name that pydantic uses too"),
    ],
)
def test_reads(name: str, sent: Any, read: Any) -> None:
    """JSON becomes the type that the function asked for, and the rest its defaults."""
    values = SIGNATURE.read({"text": "x", name: sent})

    assert read == values[name]
    assert values["mood"] == "calm"


@pytest.mark.parametrize(
    ("args", "named"),
    [
        pytest.param({}, "text is required", id="missing"),
        pytest.param({"text": "x", "txet": 1}, "no parameter txet; there are: text, number", id="unknown"),
        pytest.param({"text": "x", "sure": "false"}, 'sure: Input should be a valid boolean, got "false"', id="text for bool"),
        pytest.param({"text": "x", "sure": 0}, "sure:", id="number for bool"),
        pytest.param({"text": "x", "count": "2"}, "count:", id="text for int"),
        pytest.param({"text": "x", "count": True}, "count:", id="bool for int"),
        pytest.param({"text": "x", "count": 1.5}, "count:", id="float for int"),
        pytest.param({"text": "x", "number": "1"}, "number:", id="text for float"),
        pytest.param({"text": 3}, "text:", id="number for text"),
        pytest.param({"text": None}, "text:", id="null for text"),
        pytest.param({"text": "x", "count": 0}, "count:", id="limit"),
        pytest.param({"text": "x", "mood": "odd"}, "mood:", id="literal"),
        pytest.param({"text": "x", "places": [{"name": "a"}, {}]}, "places[1].name is required", id="nested"),
        pytest.param({"text": "\ud800"}, "not JSON", id="half a character"),
        pytest.param({"text": object()}, "not JSON", id="no JSON"),
    ],
)
def test_refuses(args: dict[str, Any], named: str) -> None:
    """A wrong argument is refused by name; text is never taken for a number or a truth value."""
    with pytest.raises(BadArguments) as refused:
        SIGNATURE.read(args)

    assert named in refused.value.why


def test_tells_of_all_wrong_fields() -> None:
    """One refusal names every field, so that one correction suffices."""
    with pytest.raises(BadArguments, match=r"text is required.*; count: .*; sure: "):
        SIGNATURE.read({"count": "x", "sure": "x"})


def test_text_types_keep_what_they_say() -> None:
    """Dates, ids and decimals come as text in JSON."""

    def times(moment: datetime, key: UUID, price: Decimal) -> None: ...

    values = Signature("times", times, {}).read(
        {"moment": "2026-02-03T04:05:06Z", "key": "12345678-1234-5678-1234-567812345678", "price": "1.10"}
    )

    assert (2026, UUID(int=0x12345678123456781234567812345678), "1.10") == (
        values["moment"].year,
        values["key"],
        str(values["price"]),
    )


def test_call_parameter_is_not_shown() -> None:
    """The context is known by its type, whatever its name."""

    def work(text: str, context: Call) -> None: ...

    signature = Signature("work", work, {})

    assert (signature.call_parameter, signature.names, list(signature.schema["properties"])) == ("context", ("text",), ["text"])


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda *texts: None, id="*args"),
        pytest.param(lambda **texts: None, id="**kwargs"),
        pytest.param(lambda text, /: None, id="positional only"),
    ],
)
def test_parameters_need_names(function: Callable[..., Any]) -> None:
    """Models send arguments by name, so every parameter must have one."""
    with pytest.raises(ConfigurationError, match="name of their own"):
        Signature("odd", function, {})


class Opaque: ...


def _opaque(x: Opaque) -> None: ...


def _callback(x: Callable[[], int]) -> None: ...


def _dangling(x: "Nowhere") -> None: ...  # noqa: F821


@pytest.mark.parametrize(
    "function",
    [pytest.param(_opaque, id="class"), pytest.param(_callback, id="callback"), pytest.param(_dangling, id="undefined")],
)
def test_unspeakable_types_are_refused(function: Callable[..., Any]) -> None:
    """A type that JSON can't say is the author's error, said when the tool is made."""
    with pytest.raises(ConfigurationError, match="of tool 'odd'"):
        Signature("odd", function, {})
