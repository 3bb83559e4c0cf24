"""From a stretch of text that is almost JSON to the value that its writer meant, or to nothing.

Several ways, the most careful first. Each may change punctuation only: a reading in which a word or a digit is gone, added
or altered is no reading.
"""

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator

from registry.structured.decoding import ConflictingKeys, Decoded, decode_at
from registry.structured.spans import Span, comment_end, opens_string, string_end

LONGEST = 200_000
"""Characters beyond which only strict JSON is read: the tolerant readers are slow."""

_TOKEN = re.compile(r"""["'“] | // | /\* | , (?= \s* [}\]] ) | \\[nrt]""", re.VERBOSE)
_BAD_ESCAPE = re.compile(r"""\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})""")
_SINGLE_BACKSLASH = re.compile(r'\\\\|\\"|\\')
_EMPTY = re.compile(r"""["]["]|''|\[\s*\]|\{\s*\}|\(\s*\)""")
_STRING = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.DOTALL)
_FRAME = re.compile(r"[{\[(]|(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ANY_ESCAPE = re.compile(r"\\\\|\\(?=[bf][A-Za-z])|" + _BAD_ESCAPE.pattern)
_PYTHON = re.compile(
    r"""
      (?P<string> (?P<quote>["']) (?: (?!(?P=quote))[^\\] | \\(?:["'\\bfnrt] | u[0-9a-fA-F]{4}) )* (?P=quote) )
    | (?P<word> \b (?:None | True | False) \b )
    | (?P<comma> , (?= \s* [}\]] ) )
    | (?P<stray> ["'] )
    """,
    re.VERBOSE,
)
_IN_JSON = {"None": "null", "True": "true", "False": "false", ",": " "}
_INNER = re.compile(r'\\.|"')
_WINDOWS_PATH = re.compile(r"""["“][A-Za-z]:\\[^\\]""")


def mended(text: str, span: Span) -> Decoded | None:
    """The value of `span`, with notes of what was mended; None when no careful reading is possible.

    Raises `ConflictingKeys` when an object names a key twice.
    """
    if span.end - span.start > LONGEST:
        return None
    source = text[span.start : span.end]
    readers: tuple[Callable[[str], Decoded | None], ...] = (_as_json, _as_python, _as_anything) if span.even else (_as_anything,)
    for read in readers:
        found = read(source)
        if found is not None:
            return found
    return None


def repunctuated(text: str, span: Span) -> Decoded | None:
    """Like `mended`, but only of what is JSON in all but its punctuation, or in all but Python's quotes and words."""
    if not span.even or span.end - span.start > LONGEST:
        return None
    source = text[span.start : span.end]
    return _as_json(source) or _as_requoted(source)


def _as_json(source: str) -> Decoded | None:
    """Comments, trailing commas, curly delimiters, stray escapes and raw control characters are put right."""
    repaired = "".join(_repaired(source))
    try:
        found = decode_at(repaired, 0, control_characters=True)
    except ConflictingKeys:
        raise
    except ValueError:
        return None
    return Decoded(found.value, found.end, ("punctuation was mended", *found.notes))


def _as_requoted(source: str) -> Decoded | None:
    """Single quotes, None, True and False are put into JSON, which then decides. Other notations of Python's are none of it."""
    try:
        found = decode_at(_PYTHON.sub(_in_json, source), 0, control_characters=True)
    except ConflictingKeys:
        raise
    except ValueError:
        return None
    return Decoded(found.value, found.end, ("Python's quotes and words were read", *found.notes))


def _in_json(token: re.Match[str]) -> str:
    if token["stray"]:
        raise ValueError("a quote that opens no string, or one with an escape that JSON does not know")
    if token["string"]:
        inner = _INNER.sub(lambda found: {"\\'": "'", '"': r"\""}.get(found[0], found[0]), token[0][1:-1])
        return f'"{inner}"'
    return _IN_JSON[token[0]]


def _as_python(source: str) -> Decoded | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            value = ast.literal_eval(source)
        return _checked(source, json.dumps(value, allow_nan=False), "read as a Python literal")
    except (ValueError, SyntaxError, TypeError, MemoryError):
        return None


def _as_anything(source: str) -> Decoded | None:
    import json_repair

    if re.search(r":\s*-?\d+,\d", source):
        return None  # 1,234 may be one number or two
    try:
        value = json_repair.repair_json(source, return_objects=True, skip_json_loads=True)
    except AssertionError:  # where it contradicts itself
        return None
    return _checked(source, json.dumps(value), "json-repair mended it")


def _checked(source: str, reading: str, note: str) -> Decoded | None:
    """The reading, if it says what the source says: the same letters in the same frame, and no empty value made up."""
    written = "".join(_repaired(source))
    same = _letters(written) == _letters(reading) and _frame(written) == _frame(reading)
    if not same or _empty_values(reading) > _empty_values(written):
        return None
    found = decode_at(reading, 0)
    return Decoded(found.value, found.end, (note, *found.notes))


def _letters(text: str) -> str:
    """What of `text` carries meaning, without its punctuation and the ways to write it."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    text = re.sub(r"\\.", lambda found: "" if found[0][1] in "\\/bfnrt\"'" else found[0][1], text)
    text = re.sub(r"\d+\.\d+", lambda found: repr(float(found[0])), text)
    text = re.sub(r"\bNone\b", "null", text)
    return "".join(re.findall(r"[^\W_]|(?<![\w.])-(?=\d)|(?<=\d)\.(?=\d)", text)).casefold()


def _frame(text: str) -> list[str | float]:
    """The numbers and opening brackets outside strings: a number that became text, or an object that was merged, shows here."""
    parts = _FRAME.findall(_STRING.sub("", text))
    return ["[" if part == "(" else part if part in ("{", "[") else float(part) for part in parts]


def _empty_values(text: str) -> int:
    return len(_EMPTY.findall(re.sub(r"\\.", "", text)))


def _repaired(source: str) -> Iterator[str]:
    """The pieces of `source`, each put right as far as its own text tells."""
    at = 0
    while found := _TOKEN.search(source, at):
        start, mark = found.span()[0], found.group()
        yield source[at:start]
        if mark in ("//", "/*"):
            at = comment_end(source, start)
        elif mark in ('"', "'", "“") and opens_string(source, start):
            at = string_end(source, start) or len(source)
            yield _string(source[start:at])
        else:
            at = found.end()
            yield mark if mark == "'" else " "
    yield source[at:]


def _string(quoted: str) -> str:
    """One string with its quotes, valid JSON where that is a matter of backslashes and curly delimiters."""
    if quoted[0] == "'":
        return quoted
    inner = quoted[1:-1]
    if _WINDOWS_PATH.match(quoted) and _BAD_ESCAPE.search(inner):
        inner = _SINGLE_BACKSLASH.sub(lambda found: found[0] if found[0] == '\\"' else "\\\\", inner)
    elif _BAD_ESCAPE.search(inner):
        inner = _ANY_ESCAPE.sub(r"\\\\", inner)
    return f'"{inner}"'
