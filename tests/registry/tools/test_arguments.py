"""Arguments as models write them."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import BadArguments, ToolFailed
from registry.messages import Schema, ToolSpec
from registry.tools.arguments import canonical_name, check_arguments, field_name, read_arguments


def spec(**properties: Schema) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return ToolSpec(name="t", description="", parameters=schema)


ANY = ToolSpec(name="t", description="", parameters={"type": "object"})


@pytest.mark.parametrize(
    ("written", "name"),
    [
        pytest.param("search", "search", id="plain"),
        pytest.param("functions.search", "search", id="functions"),
        pytest.param("default_api.search", "search", id="default_api"),
        pytest.param(" search\n", "search", id="blanks"),
        pytest.param("proxy_search", "proxy_search", id="a prefix nobody named"),
        pytest.param("Search", "Search", id="case matters"),
        pytest.param("server.search", "server.search", id="another dot"),
    ],
)
def test_canonical_name(written: str, name: str) -> None:
    """Known prefixes go, and nothing else is guessed."""
    assert name == canonical_name(written)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        pytest.param("", {}, id="empty"),
        pytest.param(" \n", {}, id="blank"),
        pytest.param("{}", {}, id="empty object"),
        pytest.param(' {"a": [1, 2.5, null, true]}\n', {"a": [1, 2.5, None, True]}, id="object"),
        pytest.param('"{\\"a\\": 1}"', {"a": 1}, id="encoded twice"),
        pytest.param('{"a": "{\\"b\\": 1}"}', {"a": '{"b": 1}'}, id="text that looks like JSON stays text"),
        pytest.param('{"a": 1}}', {"a": 1}, id="a brace too many"),
        pytest.param('{"a": 1} I will look now.', {"a": 1}, id="prose after it"),
        pytest.param('{"a": 1, "a": 1}', {"a": 1}, id="the same key twice, equal"),
        pytest.param('{"a": "x\ny"}', {"a": "x\ny"}, id="raw line break"),
        pytest.param("{'a': [None, True, False], 'b': \"it's\"}", {"a": [None, True, False], "b": "it's"}, id="Python"),
        pytest.param("\"{'a': 1}\"", {"a": 1}, id="Python, encoded once more"),
        pytest.param('{"a": 7300112233445566778}', {"a": 7300112233445566778}, id="19 digits"),
    ],
)
def test_reads(text: str, args: dict[str, Any]) -> None:
    """Whatever can be read in one way only is read so."""
    assert args == read_arguments(ANY, text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("null", "are null", id="null"),
        pytest.param("[1]", "are an array", id="array"),
        pytest.param('"x"', "not JSON", id="a string that is no JSON"),
        pytest.param('"[1]"', "are an array", id="an array encoded twice"),
        pytest.param("3", "are a number: 3", id="number"),
        pytest.param("true", "are true or false", id="bool"),
        pytest.param('{"a": 1', "not JSON", id="cut off"),
        pytest.param("{'a': 1", "not JSON", id="cut off in Python"),
        pytest.param("{'a': '" + "x" * 200_000 + "'}", "not JSON", id="Python without end"),
        pytest.param("{'a': NaN}", "NaN is no JSON number", id="NaN in Python"),
        pytest.param("{'a': 'x'}, {'a': 'y'}", "more follows", id="two objects in Python"),
        pytest.param('{"a": 1}{"b": 2}', "more follows", id="two objects"),
        pytest.param('{"a": 1}, "b": 2}', "more follows", id="closed too early"),
        pytest.param('{"a": "/safe", "a": "/etc"}', "the key 'a' comes twice", id="a key that means two things"),
        pytest.param('{"a": NaN}', "NaN is no JSON number", id="NaN"),
        pytest.param('{"a": 1e999}', "too large", id="a number out of range"),
        pytest.param("[" * 100_000, "not JSON", id="deep"),
        pytest.param('{"a": ' + "9" * 5_000 + "}", "not JSON", id="a number of 5,000 digits"),
    ],
)
def test_refuses(text: str, why: str) -> None:
    """Everything else is refused with what was got, in a sentence of bearable length."""
    with pytest.raises(BadArguments, match="wrong arguments for 't'") as refused:
        read_arguments(ANY, text)

    assert why in refused.value.why
    assert len(refused.value.why) < 300


@pytest.mark.parametrize(
    ("schema", "sent", "read"),
    [
        pytest.param({"type": "array"}, '[{\\"id\\": 1}]', [{"id": 1}], id="array"),
        pytest.param({"type": "object"}, '{\\"id\\": 1}', {"id": 1}, id="object"),
        pytest.param({"anyOf": [{"type": "array"}, {"type": "null"}]}, "[1]", [1], id="array or null"),
        pytest.param({"type": ["array", "null"]}, "[1]", [1], id="list of types"),
        pytest.param({"type": ["array", "string"]}, "[1]", "[1]", id="text is welcome"),
        pytest.param({"type": "string"}, "[1]", "[1]", id="text is wanted"),
        pytest.param({"type": "object"}, "[1]", "[1]", id="the other kind"),
        pytest.param({"type": "array"}, "[1", "[1", id="broken"),
        pytest.param({}, "[1]", "[1]", id="no type"),
    ],
)
def test_a_member_encoded_twice(schema: Schema, sent: str, read: Any) -> None:
    """A text is decoded only where the schema wants an object or an array and the text is just that."""
    assert {"a": read} == read_arguments(spec(a=schema), f'{{"a": "{sent}"}}')


@given(st.text())
def test_reading_ends_in_an_object_or_bad_arguments(text: str) -> None:
    """No text whatever raises anything else."""
    with suppress(BadArguments):
        assert isinstance(read_arguments(ANY, text), dict)


ITEMS = spec(
    items={"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}, sure={"type": "boolean"}
)


def test_valid_arguments_pass() -> None:
    """What fits the schema passes without a word."""
    check_arguments(ITEMS, {"items": [{"id": 1}], "sure": True})


@pytest.mark.parametrize(
    ("args", "named"),
    [
        pytest.param({"items": []}, "'sure' is a required property", id="missing"),
        pytest.param({"items": [], "sure": "false"}, "sure: 'false' is not of type 'boolean'", id="text for bool"),
        pytest.param({"items": [{"id": 1}, {"id": "x"}], "sure": True}, "items[1].id:", id="nested"),
        pytest.param({"items": [], "sure": True, "extra": 1}, "'extra' was unexpected", id="unknown"),
    ],
)
def test_invalid_arguments_are_named(args: dict[str, Any], named: str) -> None:
    """An error by JSON Schema says where it is."""
    with pytest.raises(BadArguments) as refused:
        check_arguments(ITEMS, args)

    assert named in refused.value.why


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "nonsense"}, id="no schema at all"),
        pytest.param({"properties": {"a": {"$ref": "#/$defs/gone"}}}, id="nowhere"),
    ],
)
def test_an_unusable_schema_fails_the_tool(schema: Schema) -> None:
    """A foreign tool with a broken schema is said to be broken."""
    with pytest.raises(ToolFailed, match="its own schema can't be used"):
        check_arguments(ToolSpec(name="t", description="", parameters=schema), {"a": 1})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nothing_is_fetched(tmp_path: Path) -> None:
    """A schema that refers elsewhere is unusable, though what it refers to is there."""
    (tmp_path / "number.json").write_text('{"type": "number"}')
    schema = {"properties": {"a": {"$ref": (tmp_path / "number.json").as_uri()}}}

    with pytest.raises(ToolFailed, match="its own schema can't be used"):
        check_arguments(ToolSpec(name="t", description="", parameters=schema), {"a": 1})


def test_field_name() -> None:
    """Paths are written as programmers write them."""
    assert field_name(["items", 0, "id"]) == "items[0].id"
    assert field_name([]) == ""


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.booleans())
def test_what_is_json_is_read_as_it_is(args: dict[str, Any], ascii_only: bool) -> None:
    """Numbers of any size, texts, and what holds them: nothing is changed, however it was written."""
    text = json.dumps(args, ensure_ascii=ascii_only)

    assert args == read_arguments(ToolSpec(name="t", description="", parameters={}), text)
