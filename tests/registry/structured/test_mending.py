"""Almost JSON is read as its writer meant it, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.structured.mending import LONGEST, mended, repunctuated
from registry.structured.spans import Span


def mend(text: str, *, even: bool = True):
    return mended(text, Span(0, len(text), even))


@pytest.mark.parametrize(
    ("text", "value", "note"),
    [
        pytest.param('{"a": 1,}', {"a": 1}, "punctuation was mended", id="comma"),
        pytest.param("{'a': (1, None)}", {"a": [1, None]}, "read as a Python literal", id="python"),
        pytest.param('{a: "b"}', {"a": "b"}, "json-repair mended it", id="bare-key"),
    ],
)
def test_the_most_careful_reader_comes_first(text, value, note):
    """Each kind of fault has its reader, and the note says which one it was."""
    found = mend(text)

    assert (value, note) == (found.value, found.notes[0])


def test_uneven_brackets_can_be_mended():
    """A bracket that was forgotten in the middle is put back, when nothing else changes."""
    assert {"a": [1, 2]} == mend('{"a": [1, 2}', even=False).value


@pytest.mark.parametrize(
    "text",
    ['{"n": 1,234}', '{"n": 007}', "{'n': 1_000j}", '{"a": }', '{"n": 1,,}', "{1, 2}", '{"a": 1, {"b": 2}}', "{'```json```9"],
)
def test_no_reading_is_better_than_a_wrong_one(text):
    """Where a reading would lose, add or change a word or a number there is none."""
    assert mend(text) is None


def test_very_long_texts_are_not_mended():
    """The tolerant readers are slow, so they are spared."""
    assert mend("{'a': '" + "x" * LONGEST + "'}") is None


def repunctuate(text: str):
    return repunctuated(text, Span(0, len(text), even=True))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("{'a': None, \"b\": True, 'c': [False, null, true]}", [None, True, [False, None, True]], id="words"),
        pytest.param("{'a': 'None', \"b\": 'True', 'c': \"False\"}", ["None", "True", "False"], id="words in strings"),
        pytest.param("{'a': 'say \"hi\"', 'b': \"it's\", 'c': '\\''}", ['say "hi"', "it's", "'"], id="quotes in quotes"),
        pytest.param(r"""{'a': 'x\ty\\z', 'b': '\u00e9\"', 'c': "it\'s"}""", ["x\ty\\z", 'é"', "it's"], id="escapes"),
        pytest.param("{'a': 1.50, 'b': -7300112233445566778, 'c': 1e3,}", [1.5, -7300112233445566778, 1000.0], id="numbers"),
        pytest.param("{'a': 'x\ny', 'b': '', 'c': {}}", ["x\ny", "", {}], id="line break and empty values"),
    ],
)
def test_quotes_and_words_of_python_are_punctuation(text, value):
    """What differs from JSON in them alone can be read in one way only."""
    assert value == [*repunctuate(text).value.values()]


TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]) | st.sampled_from("'\"\\\n\t ,:{}[]"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS, VALUES))
def test_what_python_writes_is_read_as_it_was(value):
    """The text of a dict comes back as that dict, whatever its strings hold."""
    assert value == repunctuate(repr(value)).value


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{'a': 'x' 'y'}", id="strings side by side"),
        pytest.param("{'a': 'it''s'}", id="a doubled quote"),
        pytest.param("{'a': 'it's'}", id="a bare quote"),
        pytest.param("{'a': '''x'''}", id="three quotes"),
        pytest.param("{'a': b'x'}", id="bytes"),
        pytest.param("{'a': (1, 2)}", id="a tuple"),
        pytest.param("{1, 2}", id="a set"),
        pytest.param("{None: 1}", id="a key that is no text"),
        pytest.param("{'a': 1_000}", id="digits in groups"),
        pytest.param("{'a': 0x10}", id="hexadecimal"),
        pytest.param("{'a': 007}", id="leading zeros"),
        pytest.param("{'a': +1}", id="a sign"),
        pytest.param("{'a': 7 // 2\n}", id="a division"),
        pytest.param("{'a': 1, **{}}", id="an unpacking"),
        pytest.param("{'a': 1, # one\n}", id="a comment"),
        pytest.param("{'a': f()}", id="a call"),
        pytest.param("{'a': 'C:\\data'}", id="an escape that there is not"),
        pytest.param("{'a': '\\x41'}", id="an escape of Python's own"),
        pytest.param("{'a': Nones}", id="another word"),
    ],
)
def test_no_other_notation_is_read(text):
    """A tool acts on its arguments, so whatever needs more than that is for its model to write again."""
    assert repunctuate(text) is None


def test_very_long_arguments_are_not_mended():
    """Here too the limit holds."""
    assert repunctuate("{'a': '" + "x" * LONGEST + "'}") is None
