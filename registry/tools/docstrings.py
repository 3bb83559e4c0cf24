"""Read what a docstring says of a function and its parameters: Google, NumPy and plain (`:param x:`) style."""

import inspect
import re
from collections.abc import Iterator

from msgspec import Struct, field

_SECTION = re.compile(r"(args|arguments|parameters|params):?\s*", re.IGNORECASE)
_UNDERLINE = re.compile(r"-{3,}\s*")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?")
_PLAIN = re.compile(r":param\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")


class Described(Struct, frozen=True, kw_only=True):
    """`summary` is the first paragraph on one line; `parameters` says what each described parameter means."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Described:
    """What the docstring says. An absent one says nothing; one in another style still has its first paragraph."""
    lines = inspect.cleandoc(text or "").splitlines()
    described: dict[str, str] = {}
    for names, words in (*_plain_entries(lines), *_section_entries(lines)):
        for name in names:
            described.setdefault(name, _one_line(words))
    return Described(summary=_summary(lines), parameters={name: words for name, words in described.items() if words})


def _summary(lines: list[str]) -> str:
    paragraph: list[str] = []
    for at, line in enumerate(lines):
        if not line.strip() or _PLAIN.match(line) or _opens_section(lines, at):
            break
        paragraph.append(line)
    return _one_line(paragraph)


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _opens_section(lines: list[str], at: int) -> bool:
    """Whether the parameter section begins here: `Args:`, or `Parameters` with a line of dashes below."""
    line = lines[at]
    return bool(_SECTION.fullmatch(line)) and (line.rstrip().endswith(":") or _underlined(lines, at))


def _underlined(lines: list[str], at: int) -> bool:
    return at + 1 < len(lines) and bool(_UNDERLINE.fullmatch(lines[at + 1]))


def _plain_entries(lines: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    for at, line in enumerate(lines):
        if found := _PLAIN.match(line):
            yield [found[1]], [found[2], *_deeper(lines, at)]


def _section_entries(lines: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """The entries of the parameter section: names, and the words that describe them."""
    start = next((at for at in range(len(lines)) if _opens_section(lines, at)), None)
    if start is None:
        return
    numpy = _underlined(lines, start)
    body = list(_numpy_body(lines, start + 2) if numpy else _deeper(lines, start))
    margin = min((_indent(line) for line in body if line.strip()), default=0)
    for at, line in enumerate(body):
        found = (_NUMPY if numpy else _GOOGLE).fullmatch(line.strip()) if _indent(line) == margin else None
        if found:
            first = [] if numpy else [found[2]]
            yield re.split(r"\s*,\s*", found[1]), first + list(_deeper(body, at))


def _numpy_body(lines: list[str], start: int) -> Iterator[str]:
    """Up to the next underlined heading."""
    for at in range(start, len(lines)):
        if _underlined(lines, at):
            return
        yield lines[at]


def _deeper(lines: list[str], at: int) -> Iterator[str]:
    """The lines after this one that are indented deeper than it, blank lines among them."""
    for line in lines[at + 1 :]:
        if line.strip() and _indent(line) <= _indent(lines[at]):
            return
        yield line
