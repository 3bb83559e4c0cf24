"""JSON and YAML, strictly read."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.files.places import MAX_DEPTH, UnreadableText
from planner.files.text import json_value, plain, too_deep, yaml_value

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\nb: [x, 'y', null]", {"a": 1, "b": ["x", "y", None]}, id="mapping and list"),
        pytest.param("a: no\nb: on\nc: yes", {"a": "no", "b": "on", "c": "yes"}, id="words that other readers take for booleans"),
        pytest.param("a: true\nb: True", {"a": True, "b": "True"}, id="booleans as in JSON"),
        pytest.param("a: 2026-01-31\nb: 12:30:45", {"a": "2026-01-31", "b": "12:30:45"}, id="dates and times are text"),
        pytest.param("a: 007\nb: 0x1f\nc: 1_000", {"a": "007", "b": "0x1f", "c": "1_000"}, id="odd numbers are text"),
        pytest.param("a: -1.5e3\nb: .5\nc: .nan", {"a": -1500.0, "b": ".5", "c": ".nan"}, id="numbers as in JSON"),
        pytest.param("a: ~\nb:\nc: ''", {"a": None, "b": None, "c": ""}, id="nothing"),
        pytest.param("1: x\nno: y", {"1": "x", "no": "y"}, id="keys are text"),
        pytest.param("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}, id="block"),
        pytest.param('{"a": {"b": [1, "\\u00fc"]}}', {"a": {"b": [1, "ü"]}}, id="JSON"),
        pytest.param("'<<': 1", {"<<": 1}, id="quoted merge key is a key"),
        pytest.param("# nothing", None, id="empty"),
    ],
)
def test_yaml(text, expected):
    """YAML gives plain JSON values; a scalar is what it is in JSON, else text."""
    assert expected == yaml_value(text).value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("a: 1\nb: &x [1]", "line 2: the anchor &x", id="anchor"),
        pytest.param("a: 1\nb: *x", "line 2: the alias *x", id="alias"),
        pytest.param("a: !!python/object/apply:os.system [ls]", "line 1: the tag", id="tag"),
        pytest.param("a: 1\nb: !x 2", "line 2: the tag !x", id="own tag"),
        pytest.param("a:\n  <<: {b: 1}", "line 2: the merge key <<", id="merge"),
        pytest.param("a: 1\nb: 2\na: 3", "line 3: the key 'a' is there twice", id="repeated key"),
        pytest.param("1: x\n'1': y", "line 2: the key '1' is there twice", id="repeated after all keys are text"),
        pytest.param("? [a]\n: b", "line 1: a key must be a text", id="list as key"),
        pytest.param("a: 1\n---\nb: 1", "line 2: a second document", id="documents"),
        pytest.param("a: [1", "not YAML", id="unclosed"),
        pytest.param("a: \x00", "not YAML", id="control character"),
        pytest.param("a: " + "9" * 5000, "line 1: a number of 5000 digits", id="long number"),
        pytest.param("a: 1e999", "line 1: the number 1e999 is too large", id="large number"),
        pytest.param("{a: " * 200, f"line 1: nested deeper than {MAX_DEPTH} levels", id="deep"),
    ],
)
def test_yaml_refused(text, why):
    """What one reader may see otherwise than another is refused, with its line."""
    with pytest.raises(UnreadableText) as raised:
        yaml_value(text)

    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param('{"a": 1,\n"b": }', "line 2: not JSON", id="syntax"),
        pytest.param('{"a": 1, "a": 2}', "the key 'a' is there twice", id="repeated key"),
        pytest.param('{"a": NaN}', "NaN is not JSON", id="not a number"),
        pytest.param('{"a": 1e999}', "too large", id="large number"),
        pytest.param('{"a": ' + "9" * 5000 + "}", "5000 digits", id="long number"),
        pytest.param("[" * 100_000, "nested deeper", id="very deep"),
        pytest.param("[" * 80 + "]" * 80, "nested deeper", id="deep"),
    ],
)
def test_json_refused(text, why):
    """JSON that is none, or that could mean two things, is refused."""
    with pytest.raises(UnreadableText) as raised:
        json_value(text)

    assert why in str(raised.value)


@given(_json)
def test_json_values(value):
    """Every JSON value is read as it is."""
    assert value == json_value(json.dumps(value)).value


@given(st.text(alphabet="0123456789.eE+-_ntruefals~", max_size=8))
def test_plain_is_json_or_text(text):
    """A scalar is a number, boolean or null only where JSON has the same, save for `~` and nothing."""
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None if text in ("", "~") else text
    if expected in (float("inf"), float("-inf")):
        return

    assert expected == plain(text)


@pytest.mark.parametrize(("depth", "deep"), [(MAX_DEPTH, False), (MAX_DEPTH + 1, True), (5_000, True)])
def test_depth(depth, deep):
    """The cap counts lists and objects around the innermost value."""
    value: object = 1
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}

    assert deep == too_deep(value)


def test_slow_loader_agrees(monkeypatch):
    """Without the C library the pure Python reader gives the same."""
    text = "a: &x 1"
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)

    assert {"a": ["no", 1]} == yaml_value("a: [no, 1]").value
    with pytest.raises(UnreadableText, match="line 1: the anchor"):
        yaml_value(text)
