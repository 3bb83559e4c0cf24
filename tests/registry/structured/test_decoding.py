"""Strict decoding hides nothing."""

import json

import pytest

from registry.structured.decoding import ConflictingKeys, decode, decode_at


@pytest.mark.parametrize("text", ["{}", ' {"a": [1, 2.5, -3]} \n', "null", '"é"', "7300112233445566778"])
def test_json_decodes_as_ever(text):
    """Valid JSON decodes to what everybody reads, without a note."""
    assert (json.loads(text), ()) == (decode(text).value, decode(text).notes)


@pytest.mark.parametrize("text", ["", " ", "{} x", "{'a': 1}", "[1,]", '{"a": "\n"}', "1e999", "[" * 2])
def test_anything_else_is_an_error(text):
    """There is no tolerance, not for trailing text nor for a number too large to hold."""
    with pytest.raises(ValueError, match=r"."):
        decode(text)


def test_a_conflict_names_its_key():
    """Two values for one key are an error that says which key."""
    with pytest.raises(ConflictingKeys, match="'path'"):
        decode('{"path": 1, "path": 2}')


def test_what_had_to_change_is_noted_once():
    """Equal notes are not repeated."""
    decoded = decode("[NaN, NaN, Infinity]")

    assert ([None, None, None], ("NaN became null", "Infinity became null")) == (decoded.value, decoded.notes)


def test_a_value_ends_where_its_text_ends():
    """Decoding from within a text says where to go on."""
    decoded = decode_at('see {"a": 1} there', 4)

    assert ({"a": 1}, 12) == (decoded.value, decoded.end)


def test_control_characters_are_taken_when_asked_for():
    """Raw newlines in strings are kept as they are."""
    assert "a\nb" == decode_at('"a\nb"', 0, control_characters=True).value
