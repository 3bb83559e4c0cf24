"""What those are told who are not let in."""

import orjson
import pytest

from orchestrator.server.guard import refusals
from orchestrator.server.guard.refusals import Refusal, other_methods, too_many

ALL = {name: value for name, value in vars(refusals).items() if isinstance(value, Refusal)}


@pytest.mark.parametrize("name", ALL)
def test_all_are_problems(name: str) -> None:
    """Status and detail are those of the refusal, and a 401 says how to come in."""
    refusal = ALL[name]
    response = refusal.response()
    said = orjson.loads(response.body)

    assert (refusal.status, refusal.detail) == (said["status"], said["detail"]) == (response.status_code, refusal.detail)
    assert refusal.status != 401 or response.headers["www-authenticate"].startswith('Bearer realm="dagwright"')


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (refusals.NO_CREDENTIALS, None),
        (refusals.SESSION_OVER, None),
        (refusals.WRONG_TOKEN, "invalid_token"),
        (refusals.TWO_CREDENTIALS, "invalid_request"),
        (refusals.READS_ONLY, "insufficient_scope"),
    ],
)
def test_what_was_wrong_with_the_token(refusal: Refusal, error: str | None) -> None:
    """RFC 6750 has a word for each; who showed no token is told none."""
    challenge = refusal.response().headers["www-authenticate"]

    assert (f'error="{error}"' in challenge) if error else ("error" not in challenge)


def test_methods_are_told() -> None:
    """A 405 says what would do."""
    assert "GET, POST" == other_methods(("GET", "POST")).response().headers["allow"]


@pytest.mark.parametrize(("seconds", "told"), [(0.01, "1"), (1.2, "2"), (30.0, "30")])
def test_how_long_to_wait(seconds: float, told: str) -> None:
    """Whole seconds, and one at least."""
    assert told == too_many("too many", seconds).response().headers["retry-after"]
