"""A JSON value is read out of what models write, and never made up."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from registry.structured.extract import Extracted, Unreadable, extract_json, read_strictly
from registry.structured.shapes import shape_of

ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
FACTS = {"type": "array", "items": {"type": "object", "properties": {"fact": {"type": "string"}}, "required": ["fact"]}}


class Answer(BaseModel):
    answer: str


@pytest.mark.parametrize(
    "text",
    [
        '{"reply": "Use:\\n```python\\nprint(1)\\n```"}',
        '{"t": "He wrote “soon” twice."}',
        '{"t": "a <think> tag </think>"}',
        '{"url": "https://a.example//x"}',
        '{"a": "b",\n "n": [1, 2.50, -3e2, true, null]}',
        "[1, [2, [3]]]",
        "42",
        '"text"',
        "12345678901234567890123",
    ],
)
def test_valid_json_is_never_touched(text):
    """What decodes strictly is the answer, with nothing to note."""
    assert Extracted(json.loads(text)) == extract_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param('{"city": "Lyon"}}', {"city": "Lyon"}, id="a-brace-too-many"),
        pytest.param('{"q":"tides"} I will look this up now.', {"q": "tides"}, id="prose-after"),
        pytest.param('Sure! {"q": 1}', {"q": 1}, id="prose-before"),
        pytest.param('As [1] says: {"q": 1}', {"q": 1}, id="footnote"),
        pytest.param('Set {braces like so}: {"q": 1}', {"q": 1}, id="braces-in-prose"),
        pytest.param('{"ok":true}\n</parameter></function>', {"ok": True}, id="protocol-tags"),
        pytest.param('See `that` value: {"k": 7}', {"k": 7}, id="inline-backticks"),
        pytest.param('```json\n{"n":[2]}\n}\n```', {"n": [2]}, id="fence-and-brace"),
        pytest.param('<think>Maybe {"a": 1}?</think>{"a": 2}', {"a": 2}, id="think-block"),
        pytest.param('maybe {"a": 1} or {"a": </think>{"a": 2}', {"a": 2}, id="think-block-begun-in-the-prompt"),
        pytest.param('Text about <think> tags. {"a": 2}', {"a": 2}, id="talk-of-think-tags"),
        pytest.param('x {"a": "</think>"}', {"a": "</think>"}, id="think-tag-in-a-string"),
        pytest.param('{"a": [1, 2,], }', {"a": [1, 2]}, id="trailing-commas"),
        pytest.param('{"u": "https://a//x", // start\n "n": 2 /* two */}', {"u": "https://a//x", "n": 2}, id="comments"),
        pytest.param('{"b":"one\n\ttwo"}', {"b": "one\n\ttwo"}, id="raw-control-characters"),
        pytest.param('{"r": \\n[10, 20]\\n}', {"r": [10, 20]}, id="escapes-outside-strings"),
        pytest.param(r'{"q":"\sigma and \alpha"}', {"q": r"\sigma and \alpha"}, id="latex"),
        pytest.param(r'{"q":"\frac{1}{\sqrt{2}}"}', {"q": r"\frac{1}{\sqrt{2}}"}, id="latex-that-looks-like-an-escape"),
        pytest.param(r'{"p":"e:\proj\new\umap\Data.csv"}', {"p": r"e:\proj\new\umap\Data.csv"}, id="windows-path"),
        pytest.param("{'a': None, 'b': True, 'c': (1, 2)}", {"a": None, "b": True, "c": [1, 2]}, id="python"),
        pytest.param("{'say': \"it's\", \"d\": '}'}", {"say": "it's", "d": "}"}, id="mixed-quotes"),
        pytest.param("{“city”: “Oslo”}", {"city": "Oslo"}, id="curly-delimiters"),
        pytest.param('{city: "Oslo", n: 2.50}', {"city": "Oslo", "n": 2.5}, id="bare-keys"),
        pytest.param('{"a": "He said "hi" to me", "b": 1}', {"a": 'He said "hi" to me', "b": 1}, id="unescaped-quotes"),
        pytest.param('{"a": 1 "b": 2}', {"a": 1, "b": 2}, id="missing-comma"),
        pytest.param('{"a": 1}\n{"a": 1}', {"a": 1}, id="the-same-twice"),
        pytest.param('\ufeff{"ok": 1}', {"ok": 1}, id="byte-order-mark"),
        pytest.param('{"a": 1, "a": 1}', {"a": 1}, id="equal-duplicates"),
        pytest.param('{"t": "ok \\ud83d end"}', {"t": "ok \ufffd end"}, id="half-a-surrogate-pair"),
        pytest.param('{"t": "ok \\ud83d\\ude00"}', {"t": "ok 😀"}, id="a-whole-surrogate-pair"),
        pytest.param('{"m": "a\\u0000b"}', {"m": "a\ufffdb"}, id="nul"),
        pytest.param('{"s": NaN, "i": -Infinity}', {"s": None, "i": None}, id="not-a-number"),
    ],
)
def test_what_was_meant_is_found(text, value):
    """Tolerance finds the value that the writer meant, and notes that it had to."""
    found = extract_json(text)

    assert isinstance(found, Extracted), found
    assert (value, json.dumps(value)) == (found.value, json.dumps(found.value))
    assert found.notes or text == json.dumps(value) or "\\ude00" in text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "nothing", id="empty"),
        pytest.param("I can't do that.", "nothing", id="prose"),
        pytest.param('<think>{"a": 1}', "nothing", id="unfinished-thought"),
        pytest.param('{"file":"one"}{"file":"two"}', "several", id="two-objects"),
        pytest.param('First {"a": 1}, then {"b": 2}.', "several", id="two-objects-in-prose"),
        pytest.param('{"a": 1} {"c": 1,234}', "syntax", id="an-object-beside-a-broken-one"),
        pytest.param('{"title": "x", "ports": ["Brest", "Cork"', "truncated", id="cut-in-a-list"),
        pytest.param('{"title": "x", "ports": ["Brest", "Co', "truncated", id="cut-in-a-string"),
        pytest.param('{"a": 1}\n{"a": 2, "b"', "truncated", id="cut-in-the-second"),
        pytest.param('```json\n{"a": [1,\n```', "truncated", id="cut-in-a-fence"),
        pytest.param('{"a": {"b": 1}', "truncated", id="cut-before-the-last-brace"),
        pytest.param('{"p":"/safe","p":"/etc"}', "duplicate_key", id="conflicting-keys"),
        pytest.param('Here: {"x": {"p": 1, "p": 2},}', "duplicate_key", id="conflicting-keys-that-need-mending"),
        pytest.param('{"a": true, "a": 1}', "duplicate_key", id="true-is-not-one"),
        pytest.param('{"n": 1,234}', "syntax", id="a-thousands-separator"),
        pytest.param("{'n': 0x1F}", "syntax", id="a-hexadecimal-number"),
        pytest.param('{"n": 1,,}', "syntax", id="a-number-that-would-become-text"),
        pytest.param('{"a": , "b": 1}', "syntax", id="a-missing-value"),
        pytest.param('{"a":: }', "syntax", id="a-missing-value-at-the-end"),
        pytest.param('{"n": 1e999}', "syntax", id="a-number-out-of-range"),
        pytest.param("[" * 100_000 + "]" * 100_000, "syntax", id="too-deep"),
    ],
)
def test_what_is_not_there_is_not_made_up(text, why):
    """A text that is cut, ambiguous or meaningless is refused with its kind of fault."""
    found = extract_json(text)

    assert isinstance(found, Unreadable), found
    assert why == found.why


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        pytest.param(f'{json.dumps(ANSWER)}\n{{"answer":"blue"}}', ANSWER, {"answer": "blue"}, id="schema-repeated-first"),
        pytest.param(
            '{"type": "object", "properties": {"a": {}}} {"a": 1}',
            {"type": "object", "properties": {"a": {}}},
            {"a": 1},
            id="lax-schema-repeated-first",
        ),
        pytest.param('```\n{"draft":1}\n```\nFinal:\n```\n{"answer":"a"}\n```', ANSWER, {"answer": "a"}, id="draft-and-answer"),
        pytest.param('{"fact":"likes tea"}', FACTS, [{"fact": "likes tea"}], id="one-for-a-list"),
        pytest.param('{"fact":"a"}\n{"fact":"b"}', FACTS, [{"fact": "a"}, {"fact": "b"}], id="side-by-side-for-a-list"),
        pytest.param(
            '[{"type":"reasoning","reasoning":"?"},{"type":"text","text":"{\\"answer\\":\\"4\\"}"}]',
            ANSWER,
            {"answer": "4"},
            id="content-parts",
        ),
        pytest.param(
            '{"items":"[{\\"id\\":1}]"}',
            {"properties": {"items": {"type": "array"}}},
            {"items": [{"id": 1}]},
            id="a-list-in-a-string",
        ),
        pytest.param(
            '{"id":"7300112233445566778"}',
            {"properties": {"id": {"type": "integer"}}},
            {"id": 7300112233445566778},
            id="digits-in-a-string",
        ),
        pytest.param('"{\\"answer\\": \\"x\\"}"', ANSWER, {"answer": "x"}, id="encoded-twice"),
        pytest.param('I say {"answer": "x"} and [1]', Answer, {"answer": "x"}, id="pydantic"),
        pytest.param("Numbers: [1, 2]", TypeAdapter(list[int]), [1, 2], id="type-adapter"),
        pytest.param("Numbers: [1, 2]", None, [1, 2], id="a-list-when-there-is-no-object"),
    ],
)
def test_the_schema_chooses(text, schema, value):
    """Among all candidates the one that fits is taken, converted where that loses nothing."""
    found = extract_json(text, schema)

    assert isinstance(found, Extracted), found
    assert value == found.value


@pytest.mark.parametrize(
    ("text", "schema", "why", "says"),
    [
        pytest.param("{}\n \n \n", ANSWER, "schema", "'answer' is a required property", id="empty-object"),
        pytest.param('{"answer": "a"} or {"answer": "b"}', ANSWER, "several", "2 different values", id="both-fit"),
        pytest.param('{"answer": 1}', Answer, "schema", "answer: Input should be a valid string", id="pydantic"),
        pytest.param('{"n": NaN}', {"properties": {"n": {"type": "number"}}}, "schema", "n: None is not", id="nan"),
        pytest.param('{"n": "1.5"}', {"properties": {"n": {"type": "integer"}}}, "schema", "n: '1.5'", id="no-rounding"),
        pytest.param('{"n": "true"}', {"properties": {"n": {"type": "integer"}}}, "schema", "n: 'true'", id="true-is-no-number"),
        pytest.param('{"answer": "x"', ANSWER, "truncated", "middle of a value", id="cut"),
    ],
)
def test_what_does_not_fit_is_refused(text, schema, why, says):
    """The message names the field and what is wrong with it."""
    found = extract_json(text, schema)

    assert isinstance(found, Unreadable), found
    assert why == found.why
    assert says in found.message


@pytest.mark.parametrize("text", ['{"answer": "x"} done', '{"answer": "x",}', "", "{"])
def test_reading_strictly_takes_json_and_nothing_else(text):
    """The strict reader has no tolerance at all."""
    assert isinstance(read_strictly(text, shape_of(ANSWER)), Unreadable)


def test_a_reference_to_elsewhere_is_never_fetched():
    """A schema that points at an address is an error in the schema, not a request to that address."""
    with pytest.raises(Exception, match="nowhere"):
        extract_json("{}", {"$ref": "http://nowhere.invalid/schema.json"})


fragments = st.sampled_from(
    [*"{}[]\"',:\\/*`<>n1-. \n“”", "<think>", "</think>", "```json\n", '{"a":1}', "None", "true", "\ufeff"]
)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(), st.lists(fragments, max_size=30).map("".join)), st.sampled_from([None, ANSWER, FACTS, Answer]))
def test_any_text_gives_a_value_or_a_reason(text, schema):
    """Whatever a model writes, the outcome is one of the two declared, and a value is strict JSON that fits."""
    found = extract_json(text, schema)

    match found:
        case Extracted(value=value):
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
            if schema is not None:
                shape_of(schema).check(value)
        case Unreadable(message=message):
            assert message


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.text("abc", min_size=1), values, min_size=1, max_size=4),
    st.sampled_from(["Here: {}", "```json\n{}\n```", "<think>x</think>{} ok"]),
)
def test_an_object_survives_whatever_stands_around_it(value, around):
    """Any object at all is found, unchanged, in prose, fences and after think blocks."""
    found = extract_json(around.replace("{}", json.dumps(value, ensure_ascii=False)))

    assert isinstance(found, Extracted), found
    assert value == found.value


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text("ab", min_size=1), values, min_size=1, max_size=4), st.floats(0, 1, exclude_max=True))
def test_no_prefix_of_an_object_is_a_success(value, where):
    """A text that was cut anywhere inside its object never gives a value."""
    text = json.dumps(value)
    prefix = text[: math.floor(where * len(text))]

    assert isinstance(extract_json(prefix), Unreadable)
