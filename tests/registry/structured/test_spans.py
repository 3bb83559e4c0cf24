"""Where values lie in a text."""

import pytest

from registry.structured.spans import LANDMARK, value_span


@pytest.mark.parametrize(
    ("text", "stretch", "even"),
    [
        pytest.param('{"a": 1} x', '{"a": 1}', True, id="plain"),
        pytest.param('{"a": "}"} x', '{"a": "}"}', True, id="bracket-in-a-string"),
        pytest.param("{'a': '}'} x", "{'a': '}'}", True, id="bracket-in-a-python-string"),
        pytest.param('{"a": "\\"}"} x', '{"a": "\\"}"}', True, id="escaped-quote"),
        pytest.param('{"a": "5" wide"} x', '{"a": "5" wide"}', True, id="unescaped-quote"),
        pytest.param("{a: it's, b: 1} x", "{a: it's, b: 1}", True, id="apostrophe-in-a-word"),
        pytest.param('{"a": 1 // }\n} x', '{"a": 1 // }\n}', True, id="bracket-in-a-comment"),
        pytest.param('{"a": [1, 2} x', '{"a": [1, 2}', False, id="bracket-forgotten"),
        pytest.param('{"a": 1]} x', '{"a": 1]}', False, id="bracket-too-many"),
    ],
)
def test_a_value_ends_at_its_own_bracket(text, stretch, even):
    """Brackets in strings and comments do not count, and those of the wrong kind are noticed."""
    span = value_span(text, 0)

    assert span is not None
    assert (stretch, even) == (text[span.start : span.end], span.even)


@pytest.mark.parametrize("text", ['{"a": 1', '{"a": "b', '{"a": [1, {"b": 2}', "[", '{"a": 1 /* }'])
def test_a_value_that_is_cut_has_no_end(text):
    """A text that stops inside a value has no stretch to offer."""
    assert value_span(text, 0) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param('so {"a"', 3, id="object"),
        pytest.param("so {a: 1}", 3, id="bare-key"),
        pytest.param("so [1]", 3, id="list"),
        pytest.param("so [see below] {}", 15, id="prose-in-brackets"),
        pytest.param("so {like this} []", 15, id="prose-in-braces"),
        pytest.param("hm </think>", 3, id="think-tag"),
    ],
)
def test_prose_in_brackets_is_not_a_value(text, at):
    """Only brackets that begin something like JSON are landmarks."""
    found = LANDMARK.search(text)

    assert found is not None
    assert at == found.start()
