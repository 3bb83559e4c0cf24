"""Words and figures for a terminal. What models and tools wrote must not be able to steer it."""

import re

_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[P\]X^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC and its like: titles, links, clipboard
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_REORDERING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """The text without terminal control characters and sequences; newlines and tabs stay."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


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


def listed(names: list[str], *, most: int = 8) -> str:
    """Names in one line, the first `most` of them in full."""
    shown = ", ".join(one_line(name, limit=32) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def counted(number: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
