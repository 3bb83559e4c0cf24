"""Almost JSON is read as its writer meant it, or not at all."""

import pytest

from registry.structured.mending import LONGEST, mended
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
