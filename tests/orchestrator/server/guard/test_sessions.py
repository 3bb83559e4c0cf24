"""The cookies that stand for tokens."""

import pytest

from orchestrator.server.guard.sessions import LASTING, Sessions, cookie_name

OURS, OTHERS = b"o" * 32, b"p" * 32
NOW = 1_800_000_000.0
NONCE = "nonce-of-the-test"


def test_a_cookie_stands_for_its_token() -> None:
    """Of several tokens it names the right one, and holds until its time is over."""
    sessions = Sessions([OURS, OTHERS])
    cookie = sessions.begin(OTHERS, NONCE, NOW)

    assert (OTHERS, OTHERS, None) == tuple(sessions.digest(cookie, NOW + after) for after in (0, LASTING - 1, LASTING))


def test_a_restart_keeps_it_and_a_new_token_does_not() -> None:
    """It is made of the token, and of nothing that the server remembers."""
    cookie = Sessions([OURS]).begin(OURS, NONCE, NOW)

    assert (OURS, None) == (Sessions([OURS]).digest(cookie, NOW), Sessions([OTHERS]).digest(cookie, NOW))


def test_no_two_are_alike() -> None:
    """Ending one leaves the others; what was ended can be ended again."""
    sessions = Sessions([OURS])
    one, other = sessions.begin(OURS, NONCE, NOW), sessions.begin(OURS, NONCE + "2", NOW)
    for _ in range(2):
        sessions.end(one, NOW)

    assert (None, OURS) == (sessions.digest(one, NOW), sessions.digest(other, NOW))


@pytest.mark.parametrize(
    "forge",
    [
        pytest.param(lambda name, until, nonce, mac: f"{name}.{int(until) + 1}.{nonce}.{mac}", id="a later end"),
        pytest.param(lambda name, until, nonce, mac: f"{name}.{until}.{nonce}x.{mac}", id="another nonce"),
        pytest.param(lambda name, until, nonce, mac: f"{'0' * 16}.{until}.{nonce}.{mac}", id="another token"),
        pytest.param(lambda name, until, nonce, mac: f"{name}.{until}.{nonce}.{'0' * 64}", id="another signature"),
        pytest.param(lambda name, until, nonce, mac: f"{name}.{until}.{nonce}", id="no signature"),
        pytest.param(lambda name, until, nonce, mac: f"{name}.{until}.{nonce}.{mac}\n", id="something after it"),
        pytest.param(lambda *_: "", id="nothing"),
    ],
)
def test_what_we_did_not_sign(forge: object) -> None:
    """It stands for nothing, and ending it does nothing."""
    sessions = Sessions([OURS])
    forged = forge(*sessions.begin(OURS, NONCE, NOW).split("."))  # type: ignore[operator]
    sessions.end(forged, NOW)

    assert sessions.digest(forged, NOW) is None


def test_its_name() -> None:
    """Over TLS nobody else can have set it."""
    assert ("dagwright", "__Host-dagwright") == (cookie_name("http"), cookie_name("https"))
