"""What an endpoint says when it gives no reply."""

import orjson
import pytest

from registry.errors import ModelError, Overloaded, Refused, Unauthorized, WindowExceeded
from registry.messages import Json
from registry.wire.faults import fault, fault_inside

HTML = b"<!DOCTYPE html>\n<html><head><title>502 Bad &amp; Gateway</title><style>x{}</style></head><body>" + b"<p>long</p>" * 900


def error(**fields: Json) -> bytes:
    return orjson.dumps({"error": fields})


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        pytest.param(401, error(message="bad key"), Unauthorized, "bad key", id="401"),
        pytest.param(403, b"", Unauthorized, "HTTP 403", id="403, empty"),
        pytest.param(402, error(message="pay"), Unauthorized, "pay", id="402"),
        pytest.param(429, error(code="insufficient_quota", message="empty"), Unauthorized, "empty", id="429, account empty"),
        pytest.param(429, error(code="rate_limit_exceeded", message="slow"), Overloaded, "slow", id="429"),
        pytest.param(408, b"", Overloaded, "HTTP 408", id="408"),
        pytest.param(409, b"", Overloaded, "HTTP 409", id="409"),
        pytest.param(500, error(message="oops"), Overloaded, "oops", id="500"),
        pytest.param(500, error(type="not_supported_error", message="no grammar"), Refused, "no grammar", id="500, unsupported"),
        pytest.param(501, b"", Refused, "HTTP 501", id="501"),
        pytest.param(502, HTML, Overloaded, "a web page: 502 Bad & Gateway$", id="502, web page"),
        pytest.param(503, error(message="Loading model", type="unavailable_error", code=503), Overloaded, "Loading", id="503"),
        pytest.param(529, b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}', Overloaded, "busy", id="529"),
        pytest.param(400, error(message="bad", code=400), Refused, "bad", id="400"),
        pytest.param(422, b'{"detail":[{"loc":["body"]}]}', Refused, "loc", id="422, validation detail"),
        pytest.param(404, error(message="no such model"), Refused, "no such model.*'gpt-x'", id="404 names the model"),
        pytest.param(301, b"", Refused, "HTTP 301", id="redirect"),
        pytest.param(400, b'[{"error":{"message":"in a list"}}]', Refused, "in a list", id="list"),
        pytest.param(400, b'{"error":"just text"}', Refused, "just text", id="error is text"),
        pytest.param(400, b"null", Refused, "HTTP 400", id="null"),
        pytest.param(400, b"plain words", Refused, "plain words", id="no JSON"),
        pytest.param(400, error(code="context_length_exceeded", message="long"), WindowExceeded, "long", id="window, code"),
        pytest.param(400, error(type="exceed_context_size_error", message="l"), WindowExceeded, "l", id="window, llama.cpp"),
        pytest.param(500, error(type="exceed_context_size_error", message="l"), WindowExceeded, "l", id="window under 500"),
        pytest.param(
            400, error(message="This model's maximum context length is 9 tokens"), WindowExceeded, "9 tokens", id="window, words"
        ),
        pytest.param(413, error(message="prompt is too long: 9 > 8"), WindowExceeded, "9 > 8", id="window, 413"),
        pytest.param(
            400,
            b'{"errorCode":"CONTEXT_LENGTH_EXCEEDED","error":"The conversation is long"}',
            WindowExceeded,
            "conversation",
            id="window, upper case",
        ),
        pytest.param(
            400,
            error(param="max_tokens", message="max_tokens is too large: 9. This model supports at most 8 completion tokens"),
            Refused,
            "at most 8",
            id="a cap is no window",
        ),
        pytest.param(429, error(message="too many tokens per minute"), Overloaded, "per minute", id="a rate is no window"),
    ],
)
def test_kinds(status: int, body: bytes, kind: type[ModelError], words: str) -> None:
    """Status and codes decide the kind; the sentence holds what the endpoint said, and is short."""
    raised = fault("https://x", status, {}, body, model="gpt-x")

    assert kind is type(raised)
    with pytest.raises(kind, match=words):
        raise raised
    assert len(str(raised)) < 500


def test_refusals_name_the_parameter() -> None:
    """A refused parameter is an attribute, so that callers need not parse the sentence."""
    raised = fault("https://x", 400, {}, error(param="max_tokens", code="unsupported_parameter", message="no"))

    assert isinstance(raised, Refused)
    assert ("max_tokens", 400, ("unsupported_parameter",)) == (raised.parameter, raised.status, raised.codes)


DATE = "Wed, 01 Jan 2025 12:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({}, None, id="not said"),
        pytest.param({"Retry-After": "7"}, 7.0, id="seconds"),
        pytest.param({"retry-after": "1.5"}, 1.5, id="fraction"),
        pytest.param({"retry-after": "-3"}, 0.0, id="negative"),
        pytest.param({"retry-after": "inf"}, None, id="endless"),
        pytest.param({"retry-after": "soon"}, None, id="words"),
        pytest.param({"retry-after-ms": "250", "retry-after": "1"}, 0.25, id="milliseconds are more exact"),
        pytest.param({"retry-after": "Wed, 01 Jan 2025 12:00:07 GMT", "date": DATE}, 7.0, id="date"),
        pytest.param({"retry-after": "Wed, 01 Jan 2025 11:00:00 GMT", "date": DATE}, 0.0, id="date gone by"),
        pytest.param({"retry-after": "Wed, 01 Jan 2025 12:00:07 GMT"}, None, id="date, but no clock to compare with"),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    """The wait is read from every form of the header, without a clock of ours."""
    raised = fault("https://x", 429, headers, b"")

    assert isinstance(raised, Overloaded)
    assert (429, seconds) == (raised.status, raised.retry_after)


def test_retry_delay_in_the_body() -> None:
    """Some endpoints write the wait into the body."""
    raised = fault("https://x", 429, {}, error(status="RESOURCE_EXHAUSTED", details=[{"retryDelay": "12s"}], message="slow"))

    assert isinstance(raised, Overloaded)
    assert 12.0 == raised.retry_after


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        pytest.param({"code": 429, "message": "m"}, Overloaded, id="number"),
        pytest.param({"code": "503", "message": "m"}, Overloaded, id="number as text"),
        pytest.param({"type": "overloaded_error", "message": "m"}, Overloaded, id="type"),
        pytest.param({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, Overloaded, id="nested"),
        pytest.param({"code": "invalid_api_key", "message": "m"}, Unauthorized, id="key"),
        pytest.param({"code": "context_length_exceeded", "message": "m"}, WindowExceeded, id="window"),
        pytest.param({"message": "m"}, Refused, id="nothing but words"),
        pytest.param("m", Refused, id="text"),
        pytest.param({"code": "²", "message": "m"}, Refused, id="a digit that is no number"),
        pytest.param({"code": "9" * 5_000, "message": "m"}, Refused, id="a number without end"),
        pytest.param({"code": 429, "message": "m", "details": [{"retryDelay": "9" * 400 + "s"}]}, Overloaded, id="endless wait"),
    ],
)
def test_errors_inside_a_success(value: Json, kind: type[ModelError]) -> None:
    """An error inside a 200 is judged by its inner code, and refused when it has none."""
    raised = fault_inside("https://x", value)

    assert kind is type(raised)
    assert str(raised).endswith("m")


@pytest.mark.parametrize(
    ("message", "words"),
    [
        pytest.param("a\ud83d", "a\ufffd", id="half a character"),
        pytest.param({"\ud83d": 10**20}, '{"\ufffd":100000000000000000000}', id="an object"),
    ],
)
def test_every_complaint_can_be_written_down(message: Json, words: str) -> None:
    """What can't be said in UTF-8 is mended, and what is no text is shown as JSON."""
    assert str(fault_inside("https://x", {"message": message})).endswith(words)


def test_a_complaint_that_is_nested_without_end_is_told_as_it_came() -> None:
    """What no reader can follow is no bug of ours."""
    body = b'{"error":' * 900 + b"1" + b"}" * 900

    assert str(fault("https://x", 400, {}, body)).startswith('https://x refused the request: {"error":{"error":')
