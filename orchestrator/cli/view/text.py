"""Words and figures for a terminal. What models and tools wrote must not be able to steer it."""

import re
from collections.abc import Iterable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal

from registry.usage import Usage

_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[P\]X^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC and its like: titles, links, clipboard
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_REORDERING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_HIDDEN = re.compile(f"{_CONTROLS.pattern}|{_REORDERING.pattern}")


def harmless(text: str) -> str:
    """The text without terminal control characters and sequences; newlines and tabs stay."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


def in_full(text: str) -> str:
    """The text for somebody who must know all of it: what could steer a terminal is spelled out, as in `\\x1b`."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str, *, limit: int | None = None) -> str:
    """The text harmless and on one line, each run of whitespace one space, cut to `limit` characters."""
    folded = " ".join(_REORDERING.sub("", harmless(re.sub(r"[\v\f\r\x85]", " ", text))).split())
    if limit is None or len(folded) <= limit:
        return folded
    return folded[: limit - 1] + "…"


def seconds_told(seconds: float) -> str:
    """A duration for people: `3.2 s`, `2 min 05 s`, `1 h 02 min`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def tokens_told(tokens: int, *, exact: bool) -> str:
    """A number of tokens; a lower bound says so, and what nobody reported is not zero."""
    if exact:
        return f"{tokens:,} tokens"
    return f"at least {tokens:,} tokens" if tokens else "tokens not reported"


def dollars_told(amount: Decimal, *, exact: bool = True) -> str:
    """An amount of money: cents, and of less than a dollar four digits, or as many as show two of them.

    A lower bound is never rounded up.
    """
    digits = 2 if amount >= 1 or not amount else max(4, 1 - amount.adjusted())
    shown = amount.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_EVEN if exact else ROUND_DOWN)
    return f"${shown:,f}" if exact else f"at least ${shown:,f}"


def cost_told(usage: Usage) -> str:
    """What it cost, a lower bound as such; empty where all of it was free."""
    if usage.cost:
        return dollars_told(usage.cost, exact=usage.cost_exact)
    return "" if usage.cost_exact else "cost unknown"


def listed(names: list[str], *, most: int = 8) -> str:
    """Names in one line, the first `most` of them in full."""
    shown = ", ".join(one_line(name, limit=32) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def counted(number: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def table(rows: Iterable[tuple[str, ...]], *, width: int | None = None) -> list[str]:
    """The rows as lines, their cells below each other; each line is cut to `width` characters."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(room) for cell, room in zip(row, widths, strict=True)).rstrip() for row in rows)
    return [line if width is None or len(line) <= width else f"{line[: width - 1]}…" for line in lines]
