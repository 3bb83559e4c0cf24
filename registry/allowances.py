"""What an endpoint says in the headers of an answer about how much more it takes: requests and tokens.

Every endpoint is taken to keep a bucket that fills evenly, as OpenAI and Anthropic say that theirs do. How fast it fills follows
from what was taken out of it and when it will be full again, so nobody has to know whether a limit is for a minute or a day.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct

_MINUTE = 60.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": _MINUTE, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhd]))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")


class Allowance(Struct, frozen=True, kw_only=True):
    """At most `limit` at once, `remaining` of them now. `reset` is the seconds until it is full again, None when not said."""

    limit: float
    remaining: float
    reset: float | None = None

    @property
    def rate(self) -> float:
        """How many come back in a second. A limit of which nothing is known but its size is one for a minute."""
        taken = self.limit - self.remaining
        return taken / self.reset if self.reset and taken > 0 else self.limit / _MINUTE


class Allowances(Struct, frozen=True, kw_only=True):
    """What one answer said, None for what it did not speak of."""

    requests: Allowance | None = None
    tokens: Allowance | None = None


class _Dialect(Struct, frozen=True, kw_only=True):
    """How headers are called: `{what}` is requests or tokens, `{part}` limit, remaining or reset. `moment` reads a reset.

    Nothing of the dialect is said without one of its `marks`.
    """

    marks: tuple[str, str]
    name: str
    moment: Callable[[str, str], float | None]


def allowances_in(headers: Mapping[str, str]) -> Allowances | None:
    """What these headers say of limits, None for nothing. Lookups in `headers` must ignore case, or its names be lower case."""
    for dialect in _DIALECTS:
        if any(mark in headers for mark in dialect.marks):
            return Allowances(requests=_allowance(dialect, "requests", headers), tokens=_allowance(dialect, "tokens", headers))
    return None


def _allowance(dialect: _Dialect, what: str, headers: Mapping[str, str]) -> Allowance | None:
    limit, remaining, reset = (
        headers.get(dialect.name.format(what=what, part=part), "").strip() for part in ("limit", "remaining", "reset")
    )
    if not (limit.isdecimal() and remaining.isdecimal()) or not int(limit):
        return None
    return Allowance(limit=int(limit), remaining=int(remaining), reset=dialect.moment(reset, headers.get("date", "")))


def _after(duration: str, _: str) -> float | None:
    """Seconds of `6m0s`, `120ms`, `1.5s` or a plain number of seconds."""
    if _DURATION.fullmatch(duration):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(duration))
    return float(duration) if re.fullmatch(r"\d+(?:\.\d+)?", duration) else None


def _until(moment: str, date: str) -> float | None:
    """Seconds from the answer's own Date to an RFC 3339 moment: no clock of ours is asked."""
    from email.utils import parsedate_to_datetime

    try:
        end, now = datetime.fromisoformat(moment), parsedate_to_datetime(date)
        return max(0.0, (end - (now if now.tzinfo else now.replace(tzinfo=UTC))) / timedelta(seconds=1))
    except (ValueError, TypeError):
        return None


_DIALECTS = (
    _Dialect(marks=("x-ratelimit-limit-requests", "x-ratelimit-limit-tokens"), name="x-ratelimit-{part}-{what}", moment=_after),
    _Dialect(
        marks=("anthropic-ratelimit-requests-limit", "anthropic-ratelimit-tokens-limit"),
        name="anthropic-ratelimit-{what}-{part}",
        moment=_until,
    ),
)
