"""Tool calls from the fragments of a stream, whatever holds them together."""

import pytest

from registry.messages import Json
from registry.wire.calls import CallAssembly


def part(name: str | None = None, arguments: str | None = None, **fields: Json) -> Json:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**fields, "function": function}


ONE, TWO = '{"a":1}', '{"a":2}'


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        pytest.param(
            [[part("f", "", index=0, id="x")], [part(None, '{"a"', index=0)], [part(None, ":1}", index=0)]],
            [("x", "f", ONE)],
            id="as documented",
        ),
        pytest.param(
            [
                [part("f", "", index=0, id="x")],
                [part("g", "", index=1, id="y")],
                [part(None, TWO, index=1)],
                [part(None, ONE, index=0)],
            ],
            [("x", "f", ONE), ("y", "g", TWO)],
            id="interleaved by index",
        ),
        pytest.param(
            [[part("f", ONE, index=0, id="x")], [part("f", TWO, index=0, id="y")]],
            [("x", "f", ONE), ("y", "f", TWO)],
            id="all index 0, own ids",
        ),
        pytest.param(
            [
                [part("f", '{"a":', index=0, id="x")],
                [part("f", '{"a":', index=0, id="y")],
                [part(None, "1}", index=0, id="x")],
                [part(None, "2}", index=0, id="y")],
            ],
            [("x", "f", ONE), ("y", "f", TWO)],
            id="all index 0, interleaved by id",
        ),
        pytest.param(
            [[part("f", ONE, index=0)], [part("g", TWO, index=0)], [part("g", ONE, index=0)]],
            [("call_1", "f", ONE), ("call_2", "g", TWO), ("call_3", "g", ONE)],
            id="all index 0, no ids",
        ),
        pytest.param(
            [[part("f", "", index=0)], [part(None, ONE, index=0)], [part("f", "", index=0)], [part(None, TWO, index=0)]],
            [("call_1", "f", ONE), ("call_2", "f", TWO)],
            id="all index 0, no ids, names first",
        ),
        pytest.param(
            [[part("f", '{"a":', index=0)], [part("f", "1}", index=0)], [part("f", "", index=0)]],
            [("call_1", "f", ONE)],
            id="the name repeated in every fragment",
        ),
        pytest.param(
            [[part("f", ONE, index=0, id="x"), part("g", TWO, index=1, id="x")]],
            [("x", "f", ONE), ("x_2", "g", TWO)],
            id="an id reused in one chunk",
        ),
        pytest.param(
            [
                [part("f", "", index=0, id="x")],
                [part("f", "", index=1, id="x")],
                [part(None, ONE, index=0, id="x")],
                [part(None, TWO, index=1, id="x")],
            ],
            [("x", "f", ONE), ("x_2", "f", TWO)],
            id="an id reused, told apart by index",
        ),
        pytest.param(
            [[part("f", ONE, id="x")], [part("f", TWO, id="x")]],
            [("x", "f", ONE), ("x_2", "f", TWO)],
            id="an id reused after whole arguments",
        ),
        pytest.param([[part("f", ONE), part("g", TWO)]], [("call_1", "f", ONE), ("call_2", "g", TWO)], id="neither id nor index"),
        pytest.param(
            [[part("f", ""), part("g", "")], [part(None, ONE), part(None, TWO)]],
            [("call_1", "f", ONE), ("call_2", "g", TWO)],
            id="by position in the chunk",
        ),
        pytest.param([[part("f", '{"a":')], [part(None, "1}")]], [("call_1", "f", ONE)], id="by order alone"),
        pytest.param(
            [[part("f", '{"a":', index=0, id="x")], [part(None, "1}", index=0, id=" ")]],
            [("x", "f", ONE)],
            id="a blank id continues",
        ),
        pytest.param(
            [[part("f", '{"a":', index=0, id="x")], [part(None, "1}", index=0, id="z")]],
            [("x", "f", ONE)],
            id="a new id without a name continues",
        ),
        pytest.param([[part("f", "", index=0)], [part(None, ONE, index=0, id="x")]], [("x", "f", ONE)], id="a late id"),
        pytest.param([[part("f", "", index=1, id="x")], [part(None, ONE, index=1)]], [("x", "f", ONE)], id="first index is 1"),
        pytest.param([[part("f", None, index=0, id="x")]], [("x", "f", "{}")], id="no arguments at all"),
        pytest.param(
            [[part("f", "", index=0, id="x")], [part("g", "", index=0, id="y")]],
            [("x", "f", "{}"), ("y", "g", "{}")],
            id="two calls without arguments",
        ),
        pytest.param([[part("f", ONE, index=0, id="old")]], [("old_2", "f", ONE)], id="an id of the transcript"),
        pytest.param([[part("functions.f", ONE, index=0, id="x")]], [("x", "f", ONE)], id="prefix"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_calls(chunks: list[list[dict[str, Json]]], calls: list[tuple[str, str, str]]) -> None:
    """Each call comes out once, with its own arguments and an id of its own."""
    assembly = CallAssembly()

    for chunk in chunks:
        assembly.add(chunk)

    assert calls == [(call.id, call.name, call.arguments) for call in assembly.calls(taken=("old",))]


@pytest.mark.parametrize(
    ("chunks", "extras"),
    [
        pytest.param([[part("f", ONE, index=0, id="x")]], [""], id="nothing"),
        pytest.param([[part("f", ONE, index=0, extra={"sig": "AbC="})]], ['{"extra":{"sig":"AbC="}}'], id="with the call"),
        pytest.param(
            [[part("f", "", index=0, a=1)], [part(None, ONE, index=0)], [part(None, None, index=0, b="é", a=2)]],
            ['{"a":2,"b":"é"}'],
            id="bit by bit, the last word counts",
        ),
        pytest.param(
            [
                [{"index": 0, "function": {"name": "f", "arguments": ONE, "a": 1}, "c": 3}],
                [{"index": 0, "function": {"b": 2}, "c": None}],
            ],
            ['{"c":3,"function":{"a":1,"b":2}}'],
            id="within the function, and null says nothing",
        ),
        pytest.param(
            [[part("f", "", index=0, a=1), part("g", "", index=1, a=2)], [part(None, ONE, index=0), part(None, TWO, index=1)]],
            ['{"a":1}', '{"a":2}'],
            id="each its own",
        ),
        pytest.param(
            [[part("f", ONE, index=0, id="x", a=1)], [part("f", "", index=0, id="x", b=2)], [part("f", "", index=0, c=3)]],
            ['{"a":1,"b":2,"c":3}'],
            id="with repeats of the name",
        ),
    ],
)
def test_what_only_the_endpoint_understands(chunks: list[list[Json]], extras: list[str]) -> None:
    """What fragments hold beyond the protocol belongs to their call, and is kept as it came."""
    assembly = CallAssembly()
    for chunk in chunks:
        assembly.add(chunk)

    assert extras == [call.extra for call in assembly.calls()]
