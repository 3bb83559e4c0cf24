"""Results as text and data."""

import json
from collections import OrderedDict, UserDict, deque, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from registry.messages import Json
from registry.tools.rendering import rendered, visible

MOMENT = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Place(BaseModel):
    name: str
    seen: datetime
    tags: set[str] = set()


@dataclass(frozen=True, slots=True)
class Spot:
    y: int
    x: int


Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        pytest.param("as it is\n", "as it is\n", id="text"),
        pytest.param("é \ud800", "é ?", id="half a character"),
        pytest.param(None, "", id="none"),
        pytest.param("grüße".encode(), "grüße", id="bytes that are text"),
        pytest.param(b"\xff\x00\x01", "<3 bytes>", id="bytes"),
        pytest.param(bytearray(b"a\0b"), "<3 bytes>", id="bytes with NUL"),
        pytest.param(MOMENT, "2026-02-03T04:05:06+00:00", id="datetime"),
        pytest.param(date(2026, 2, 3), "2026-02-03", id="date"),
        pytest.param(time(4, 5), "04:05:00", id="time"),
        pytest.param(Decimal("1.10"), "1.10", id="decimal"),
        pytest.param(UUID(int=1), "00000000-0000-0000-0000-000000000001", id="uuid"),
        pytest.param(PurePosixPath("a/b"), "a/b", id="path"),
        pytest.param(Colour.RED, "red", id="enum"),
        pytest.param(2**70, "1180591620717411303424", id="an int beyond 64 bits"),
    ],
)
def test_plain_results(result: object, text: str) -> None:
    """What is text, or is said best by text, has no data."""
    assert (text, None) == rendered(result)


@pytest.mark.parametrize(
    ("result", "data"),
    [
        pytest.param(True, True, id="bool"),
        pytest.param(3, 3, id="int"),
        pytest.param(2.5, 2.5, id="float"),
        pytest.param(Level.HIGH, 3, id="int enum"),
        pytest.param(timedelta(minutes=2), 120.0, id="timedelta"),
        pytest.param({"b": 1, "a": [None, "é"]}, {"b": 1, "a": [None, "é"]}, id="dict"),
        pytest.param([], [], id="empty list"),
        pytest.param(UserDict(OrderedDict(z=1)), {"z": 1}, id="mapping"),
        pytest.param((1, deque([2]), range(2)), [1, [2], [0, 1]], id="sequences"),
        pytest.param(Pair(1, 2), [1, 2], id="named tuple"),
        pytest.param({10, 9, 2}, [2, 9, 10], id="set of numbers"),
        pytest.param(frozenset({"b", 1, "a"}), ["a", "b", 1], id="set of many kinds"),
        pytest.param(
            {1: "x", None: "y", Colour.RED: "z", MOMENT.date(): 0},
            {"1": "x", "null": "y", "red": "z", "2026-02-03": 0},
            id="keys",
        ),
        pytest.param([float("nan"), float("-inf")], [None, None], id="not finite"),
        pytest.param([b"\xff", 2**64], ["<1 bytes>", "18446744073709551616"], id="nested leaves"),
        pytest.param(Spot(2, 1), {"y": 2, "x": 1}, id="dataclass"),
        pytest.param(
            [Place(name="K2", seen=MOMENT, tags={"b", "a"})],
            [{"name": "K2", "seen": "2026-02-03T04:05:06+00:00", "tags": ["a", "b"]}],
            id="pydantic model",
        ),
        pytest.param({"a": object()}, {"a": "<object: can't be shown as text>"}, id="object inside"),
        pytest.param([SecretStr("s3cret")], ["<SecretStr: can't be shown as text>"], id="a secret stays one"),
    ],
)
def test_structured_results(result: object, data: Any) -> None:
    """Structured results are compact JSON, keys in the given order, and the same value as data."""
    assert (json.dumps(data, ensure_ascii=False, separators=(",", ":")), data) == rendered(result)


def test_a_list_within_itself_ends() -> None:
    """A circle is cut where it closes; a value that is there twice is shown twice."""
    circle: list[Any] = [1]
    circle.append(circle)
    twice = [1]

    assert rendered(circle) == ("""[1,"<list: can't be shown as text>"]""", [1, "<list: can't be shown as text>"])
    assert rendered([twice, twice]) == ("[[1],[1]]", [[1], [1]])


def test_deep_results_end() -> None:
    """Nesting is shown to some depth only."""
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]

    shown = rendered(deep)

    assert shown is not None
    assert "can't be shown" in shown[0]


class Hostile:
    """Every look at it raises."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError


class BrokenDict(UserDict[str, int]):
    def __iter__(self) -> Iterator[str]:
        raise OSError


class BrokenModel(BaseModel):
    def model_dump(self, **kwargs: Any) -> dict[str, Any]:
        raise LookupError


ODD = st.sampled_from(
    [
        BrokenDict(),
        BrokenModel(),
        object(),
        int,
        len,
        ...,
        1j,
        float("nan"),
        "\udfff",
        b"\x80",
        ValueError("x"),
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.decimals()
    | st.uuids()
    | ODD
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(ANYTHING)
def test_never_raises(result: object) -> None:
    """Whatever a tool returns ends as text that can be sent and data that is strict JSON."""
    shown = rendered(result)

    if shown is not None:
        text, data = shown
        text.encode()
        assert data is None or data == json.loads(json.dumps(data, allow_nan=False))


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(object(), id="object"),
        pytest.param(Place, id="class"),
        pytest.param(Spot, id="dataclass type"),
        pytest.param(iter([1]), id="iterator"),
        pytest.param(Hostile(), id="raises when it is looked at"),
        pytest.param([Hostile()], id="holds one that does"),
        pytest.param(10**5_000, id="5,000 digits"),
    ],
)
def test_what_cannot_be_shown(result: object) -> None:
    """It is said to be nothing to show: who called the tool has to say so."""
    assert rendered(result) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"b": 1, "a": "größer"}, '{"a": "größer", "b": 1}', id="sorted and readable"),
        pytest.param({"to": "ann\u202egro.elpmaxe"}, r'{"to": "ann\u202egro.elpmaxe"}', id="text that runs backwards"),
        pytest.param("a\x1b[2Jb", r'"a\u001b[2Jb"', id="a terminal's control"),
        pytest.param("a\x9b2Jb", r'"a\u009b2Jb"', id="another one"),
        pytest.param("a\u00a0b\u200bc", r'"a\u00a0b\u200bc"', id="blanks that look like none"),
        pytest.param("\U000e0041", r'"\udb40\udc41"', id="beyond the first plane"),
    ],
)
def test_what_a_person_decides_by(value: Json, text: str) -> None:
    """All of it can be seen, nothing changes how the rest is seen, and a program reads the same."""
    assert text == visible(value)
    assert value == json.loads(visible(value))
