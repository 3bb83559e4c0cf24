"""What the Messages API says when it gives no reply."""

import orjson
import pytest

from registry.errors import ModelError, Overloaded, Refused, Unauthorized, WindowExceeded
from registry.wire.anthropic.faults import fault, fault_inside


def error(kind: str, message: str = "words") -> bytes:
    return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})


INVALID = "invalid_request_error"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        pytest.param(400, error(INVALID), Refused, id="invalid"),
        pytest.param(401, error("authentication_error"), Unauthorized, id="authentication"),
        pytest.param(402, error("billing_error"), Unauthorized, id="billing"),
        pytest.param(403, error("permission_error"), Unauthorized, id="permission"),
        pytest.param(404, error("not_found_error"), Refused, id="not found"),
        pytest.param(413, error("request_too_large"), WindowExceeded, id="too large"),
        pytest.param(413, b"<html><title>413 Payload</title>", WindowExceeded, id="too large for what stands before the API"),
        pytest.param(429, error("rate_limit_error"), Overloaded, id="rate limit"),
        pytest.param(500, error("api_error"), Overloaded, id="api error"),
        pytest.param(504, error("timeout_error"), Overloaded, id="timeout"),
        pytest.param(529, error("overloaded_error"), Overloaded, id="overloaded"),
        pytest.param(400, error(INVALID, "prompt is too long: 9 tokens > 8 maximum"), WindowExceeded, id="prompt too long"),
        pytest.param(
            400,
            error(INVALID, "input length and `max_tokens` exceed context limit: 7 + 2 > 8"),
            WindowExceeded,
            id="with the cap",
        ),
        pytest.param(400, error(INVALID, "max_tokens: 9 > 8, which is the maximum allowed"), Refused, id="a cap is no window"),
        pytest.param(400, error(INVALID, "Your credit balance is too low to access the API"), Unauthorized, id="no credit"),
        pytest.param(400, error(INVALID, "You have reached your specified API usage limits."), Unauthorized, id="spent"),
    ],
)
def test_faults(status: int, body: bytes, kind: type[ModelError]) -> None:
    """Status, code and, for three things, the words decide which error it is."""
    assert kind is type(fault("https://x", status, {}, body))


def test_the_wait_that_is_asked_for() -> None:
    """The header that says when to come back is read, and an unknown model is named."""
    slow = fault("https://x", 429, {"retry-after": "12"}, error("rate_limit_error"))
    lost = fault("https://x", 404, {}, error("not_found_error"), model="claude-9")

    assert isinstance(slow, Overloaded)
    assert 12.0 == slow.retry_after
    assert "claude-9" in str(lost)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(error("overloaded_error"), Overloaded, id="overloaded"),
        pytest.param(error("rate_limit_error"), Overloaded, id="rate limit"),
        pytest.param(error("api_error"), Overloaded, id="api error"),
        pytest.param(error("authentication_error"), Unauthorized, id="authentication"),
        pytest.param(error(INVALID), Refused, id="invalid"),
        pytest.param(error(INVALID, "exceeds context limit"), WindowExceeded, id="too long"),
    ],
)
def test_faults_inside_a_stream(body: bytes, kind: type[ModelError]) -> None:
    """Without a status, the code and the words decide."""
    assert kind is type(fault_inside("https://x", orjson.loads(body)))
