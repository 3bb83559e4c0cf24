"""What an endpoint says when it gives no reply, as a typed ModelError.

Decided by status and by the codes that endpoints put into error bodies; wording counts only for an overlong request,
which several endpoints announce in no other way.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from math import isfinite

import orjson
from msgspec import Struct

from registry.errors import ModelError, Overloaded, Refused, Unauthorized, WindowExceeded
from registry.messages import Json
from registry.wire.surrogates import encoded, mended

EXCERPT = 300
"""Characters of a foreign text that an error quotes."""

_TOO_LONG = {
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "request_too_large",
    "string_above_max_length",
}
_TOO_LONG_WORDS = re.compile(
    r"maximum context length|context (length|window|size) (is )?exceeded|exceeds? the (available |model'?s )?(maximum )?context"
    r"|(prompt|input|conversation|request) is too long|too many (input )?tokens",
    re.IGNORECASE,
)
_STATUS_OF = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "insufficient_quota": 402,
    "billing_error": 402,
    "billing_hard_limit_reached": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "not_supported_error": 400,
    "unsupported_parameter": 400,
    "unsupported_value": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "too_many_requests": 429,
    "resource_exhausted": 429,
    "overloaded": 529,
    "overloaded_error": 529,
    "api_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "server_error": 500,
    "service_unavailable": 503,
    "unavailable_error": 503,
    "timeout": 504,
    "timeout_error": 504,
}
# Codes that say more than the status they come with: an empty account under 429, an unknown feature under 500.
_OUTRANKING = {
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "not_supported_error",
    "unsupported_parameter",
}
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


class _Complaint(Struct, frozen=True, kw_only=True):
    """An error body, read. `codes` are all the codes and types that it names, in lower case."""

    message: str
    codes: tuple[str, ...] = ()
    parameter: str | None = None
    retry_delay: float | None = None


def fault(endpoint: str, status: int, headers: Mapping[str, str], body: bytes, *, model: str = "") -> ModelError:
    """The error that an answer of this status means. `model` is the one that was asked for."""
    complaint = _read(body)
    return _judged(endpoint, complaint, status, _retry_after(headers, complaint), model)


def fault_inside(endpoint: str, error: Json, *, model: str = "") -> ModelError:
    """The error that an endpoint reports inside an answer which began as a success."""
    complaint = _understood(error)
    numbers = [int(code) for code in complaint.codes if re.fullmatch(r"[45]\d\d", code)]
    known = [_STATUS_OF[code] for code in complaint.codes if code in _STATUS_OF]
    status = next(iter(numbers + known), 400)
    return _judged(endpoint, complaint, status, complaint.retry_delay, model)


def _judged(endpoint: str, said: _Complaint, status: int, retry_after: float | None, model: str) -> ModelError:
    why = said.message or f"HTTP {status}"
    if _too_long(said, status):
        return WindowExceeded(endpoint, why)
    status = next((_STATUS_OF[code] for code in said.codes if code in _OUTRANKING), status)
    if status in (401, 402, 403):
        return Unauthorized(endpoint, why)
    if status in (408, 409, 425, 429) or (status >= 500 and status != 501):
        return Overloaded(endpoint, why, status=status, retry_after=retry_after)
    if status == 404 and model:
        why = f"{why} (the model asked for was {model!r})"
    return Refused(endpoint, why, status=status, parameter=said.parameter, codes=said.codes)


def _too_long(said: _Complaint, status: int) -> bool:
    named = not _TOO_LONG.isdisjoint(said.codes)
    return named or (status in (400, 413, 422) and _TOO_LONG_WORDS.search(said.message) is not None)


def _read(body: bytes) -> _Complaint:
    try:
        value = orjson.loads(body)
        return _understood(value[0] if isinstance(value, list) and value else value)
    except (ValueError, RecursionError):  # no JSON, or nested so deep that it can't be told again
        return _Complaint(message=readable(body))


def _understood(value: Json) -> _Complaint:
    """Read an error object, or a body that has one inside."""
    if not isinstance(value, dict):
        return _Complaint(message=_short("" if value is None else str(value)))
    inner = value.get("error")
    outer = value if inner is None or not isinstance(inner, dict) else {**value, **inner}
    message = next((outer[key] for key in ("message", "error", "detail", "errorMessage") if outer.get(key)), "")
    codes = [outer.get(key) for key in ("code", "type", "status", "errorCode", "error_code")]
    parameter = outer.get("param")
    return _Complaint(
        message=_short(message if isinstance(message, str) else encoded(message).decode()),
        codes=tuple(str(code).lower() for code in codes if isinstance(code, str | int)),
        parameter=parameter if isinstance(parameter, str) else None,
        retry_delay=_retry_delay(outer.get("details")),
    )


def _retry_delay(details: Json) -> float | None:
    """The wait that some endpoints write into the body: `{"retryDelay": "12s"}` among the details."""
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (found := _DELAY.fullmatch(delay)):
            return _seconds(found[1])
    return None


def _retry_after(headers: Mapping[str, str], said: _Complaint) -> float | None:
    """Seconds. A date counts from the answer's own Date, so no clock of ours is asked."""
    given = {name.lower(): value.strip() for name, value in headers.items()}
    exact = _seconds(given.get("retry-after-ms", ""))
    if exact is not None:
        return exact / 1000
    wait = given.get("retry-after", "")
    for seconds in (_seconds(wait), _until(wait, given.get("date", "")), said.retry_delay):
        if seconds is not None:
            return seconds
    return None


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(0.0, value) if isfinite(value) else None


def _until(moment: str, now: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, (parsedate_to_datetime(moment) - parsedate_to_datetime(now)) / timedelta(seconds=1))
    except (ValueError, TypeError):
        return None


def readable(body: bytes) -> str:
    """A short excerpt of a body that isn't JSON: the title of a web page, or its first words."""
    from html import unescape

    text = body[:20_000].decode(errors="replace")
    if not looks_like_html(body):
        return _short(text)
    title = re.search(r"<(title|h1)[^>]*>(.*?)</\1>", text, re.IGNORECASE | re.DOTALL)
    shown = title[2] if title else re.sub(r"<(script|style).*?</\1>", " ", text, flags=re.IGNORECASE | re.DOTALL)
    return f"a web page: {_short(unescape(re.sub(r'<[^>]*>', ' ', shown)))}"


def looks_like_html(body: bytes) -> bool:
    return body.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html", b"<head", b"<body"))


def _short(text: str) -> str:
    words = " ".join(mended(text).split())
    return words if len(words) <= EXCERPT else f"{words[:EXCERPT]}..."
