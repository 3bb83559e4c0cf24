"""What an endpoint's refusals teach about the way to talk to it.

Status, parameter and codes decide. Some endpoints name the parameter in their message alone: there it counts too, if it can't
be an everyday word. The largest cap they take is never anywhere else.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec.structs import fields, replace

from registry.errors import Refused
from registry.expiring import Expiring
from registry.messages import Json
from registry.wire.rules import WireRules

REMEMBERED = 3600.0
"""Seconds after the last lesson on a model when all of them are forgotten: endpoints are upgraded."""

_OTHER_CAP = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_FEATURES: Mapping[str, tuple[str, ...]] = {
    "tool_choice": ("named_tool_choice", "tool_choice"),
    "response_format": ("schema_format",),
    "stream_options": ("stream_usage",),
    "role": ("system_role",),
    "tool_calls": ("call_extras",),
}
"""By parameter, the fields of a row that are given up, one after the other."""

_PARAMETER = re.compile(r"\A(?:body\.)?(?:messages\W*\d+\W*(?P<inner>role|tool_calls)\b|(?P<outer>\w+))")
_NAMED = re.compile(
    r"\b(?P<name>max_completion_tokens|max_tokens|tool_choice|response_format|stream_options|tool_calls)\b"
    r"|[\"'`](?P<quoted>temperature)[\"'`]|\bsystem (?P<role>role)\b",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|extra|not (permitted|allowed)|deprecated", re.IGNORECASE
)
_LIMIT = re.compile(
    r"(?:at most|up to|maximum|less than|<=|≤|>|range|between)[^.\d\[]{0,40}(?<![\w-])"
    r"(?:\[\s*\d+\s*,\s*|\[?\d+\s*(?:,\s|and|to|-)\s*)?(?P<limit>\d{1,3}(?:,\d{3})+|\d+)",
    re.IGNORECASE,
)


def adjusted(rules: WireRules, refusal: Refused, *, cap: int | None = None) -> WireRules | None:
    """The row that takes a refusal to heart; None when it names nothing that can be said otherwise or left out.

    `cap` is the token cap that the request asked for. A row only ever gives up more, so no chain of refusals goes on for ever.
    """
    if refusal.status not in (400, 404, 422):
        return None
    return next((replace(rules, **changes) for name in _named(refusal) if (changes := _changes(name, rules, refusal, cap))), None)


def learnt(endpoint: str, model: str, rules: WireRules) -> WireRules:
    """The row with all that this endpoint lately taught about this model. The same lessons give the same row."""
    lessons = _lessons.known((endpoint, model))
    return _with(rules, lessons) if lessons else rules


def learn(endpoint: str, model: str, *, before: WireRules, after: WireRules) -> None:
    """Keep what set the two rows apart, for the endpoint refused the one and took the other."""
    if after is before:
        return
    changes = {field: getattr(after, field) for field in _FIELDS if getattr(before, field) != getattr(after, field)}
    if changes:
        kept = dict(_lessons.known((endpoint, model)) or ())
        _lessons.learn((endpoint, model), tuple({**kept, **changes}.items()))


_FIELDS = tuple(field.name for field in fields(WireRules))
_lessons: Expiring[tuple[str, str], tuple[tuple[str, Json], ...]] = Expiring(seconds=REMEMBERED)


@lru_cache(256)
def _with(rules: WireRules, lessons: tuple[tuple[str, Json], ...]) -> WireRules:
    return replace(rules, **dict(lessons))


def _named(refusal: Refused) -> Iterator[str]:
    """The parameters that a refusal names: the one in its field, or those in its message."""
    pattern, text = (_PARAMETER, refusal.parameter) if refusal.parameter else (_NAMED, refusal.why)
    for found in pattern.finditer(text):
        yield found[found.lastgroup or 0].lower()


def _changes(name: str, rules: WireRules, refusal: Refused, cap: int | None) -> dict[str, Json]:
    """The fields to change in a row because this parameter was refused."""
    if name in _OTHER_CAP:
        return _cap_changes(name, rules, refusal, cap)
    if name == "temperature":
        # A value out of range is the caller's mistake, not a thing that the endpoint can't take.
        return {} if _is_about_the_value(refusal) or not rules.temperature else {"temperature": False}
    given_up = next((field for field in _FEATURES.get(name, ()) if getattr(rules, field)), None)
    return {given_up: False} if given_up else {}


def _cap_changes(name: str, rules: WireRules, refusal: Refused, cap: int | None) -> dict[str, Json]:
    """A cap is never dropped, for it guards the caller's money: it is lowered, or goes by its other name if this one is unknown.

    On a mere suspicion it keeps its name: many endpoints ignore what they don't know, and the cap would be gone.
    """
    if _is_about_the_value(refusal):
        limit = _limit(refusal)
        fits = limit is not None and cap is not None and 1 < limit < cap and rules.most_tokens is None
        return {"most_tokens": limit} if fits else {}
    if name != rules.max_tokens_parameter or rules.max_tokens_renamed or not _is_unknown(name, refusal):
        return {}
    return {"max_tokens_parameter": _OTHER_CAP[name], "max_tokens_renamed": True}


def _is_unknown(name: str, refusal: Refused) -> bool:
    """Whether this name of the cap is none to the endpoint, or it recommends the other one."""
    said = " ".join((*refusal.codes, refusal.why))
    return _OTHER_CAP[name] in said or _UNKNOWN.search(said) is not None


def _is_about_the_value(refusal: Refused) -> bool:
    """Whether the parameter is known and its value is wrong. Codes say so; where there are none, a limit does."""
    if any(code.startswith("unsupported") for code in refusal.codes):
        return False
    return any("value" in code for code in refusal.codes) or _limit(refusal) is not None


def _limit(refusal: Refused) -> int | None:
    found = _LIMIT.search(refusal.why)
    return int(found["limit"].replace(",", "")) if found else None
