"""Where in a model's text the JSON values lie, and where each one ends although it is not quite JSON."""

import re
from collections.abc import Iterator

from msgspec import Struct

_CLOSES = {"{": "}", "[": "]"}
_QUOTES = {'"': '"', "'": "'", "“": "”"}

LANDMARK = re.compile(
    r"""
      < (?P<opened> think | thinking | thought | reasoning ) >
    | </ (?P<closed> think | thinking | thought | reasoning ) >
    | \{ (?= \s* (?: ["'“}] | [A-Za-z_][\w-]* \s* : | // | /\* | \\[nrt] | $ ) )
    | \[ (?= \s* (?: ["'“\[{\]\d] | -\d | (?:true|false|null|True|False|None)\b | // | /\* | \\[nrt] | $ ) )
    """,
    re.VERBOSE,
)
"""What matters outside values: the edges of think blocks, and brackets that begin something like JSON, not like prose."""

_STEP = re.compile(r"""["'“{}\[\]] | // | /\*""", re.VERBOSE)
_LOOK_BACK = 80
_COMMENT_END = {"//": "\n", "/*": "*/"}
_AFTER_STRING = re.compile(r"\s*(?:[,:}\]]|//|/\*|\\[nrt]|$)")


class Span(Struct, frozen=True):
    """A bracketed stretch of text. It is `even` when every bracket in it met its own kind."""

    start: int
    end: int
    even: bool


def value_span(text: str, start: int) -> Span | None:
    """The stretch that the bracket at `start` opens; None when the text ends before it is closed.

    It need not be valid JSON: strings may hold unescaped quotes, use other quotes, and comments may stand between values.
    """
    waiting: list[str] = []
    open_now = {"}": 0, "]": 0}
    even = True
    for mark, end in _marks(text, start):
        if mark in _CLOSES:
            waiting.append(_CLOSES[mark])
            open_now[_CLOSES[mark]] += 1
        elif not open_now[mark]:
            even = False
        else:
            while (closed := waiting.pop()) != mark:
                open_now[closed] -= 1
                even = False
            open_now[mark] -= 1
            if not waiting:
                return Span(start, end, even)
    return None


def string_end(text: str, start: int) -> int | None:
    """Where the string that opens at `start` ends, its closing quote included; None when it never does.

    A quote closes only where JSON could go on after it, so `"5" wide"` is one string, as its writer meant it.
    """
    closing = _QUOTES[text[start]]
    at = start + 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == closing and _AFTER_STRING.match(text, at + 1):
            return at + 1
        else:
            at += 1
    return None


def opens_string(text: str, at: int) -> bool:
    """Whether the quote at `at` stands where a JSON string may begin. An apostrophe in a bare word does not."""
    return text[at] != "'" or text[max(0, at - _LOOK_BACK) : at].rstrip()[-1:] in ("{", "[", "(", ",", ":")


def comment_end(text: str, start: int) -> int:
    """Where the comment that opens at `start` ends. One that is never closed takes the rest."""
    end_mark = _COMMENT_END[text[start : start + 2]]
    end = text.find(end_mark, start + 2)
    return len(text) if end < 0 else end + len(end_mark)


def _marks(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Every bracket outside strings and comments, with where it ends. Stops at a string that is never closed."""
    at = start
    while found := _STEP.search(text, at):
        mark, at = found.group(), found.end()
        if mark in _COMMENT_END:
            at = comment_end(text, found.start())
        elif mark in _QUOTES:
            if opens_string(text, found.start()):
                end = string_end(text, found.start())
                if end is None:
                    return
                at = end
        else:
            yield mark, at
