"""Who is asking."""

import pytest

from orchestrator.server.guard.keys import Keys, network_of
from orchestrator.server.guard.tokens import Grant
from registry.errors import ConfigurationError
from tests.orchestrator.server.guard.house import BOARD, HARBOUR, LIGHTS, Clock, keys


def test_tokens_and_cookies_grant_the_same() -> None:
    """A cookie is as good as its token."""
    held = keys()

    for token, grant in (
        (HARBOUR, Grant(tenant="harbour")),
        (LIGHTS, Grant(tenant="lights")),
        (BOARD, Grant(tenant="harbour", writes=False)),
    ):
        assert (grant, grant) == (held.show(token, "peer", 0), held.recall(held.log_in(token)))


@pytest.mark.parametrize("token", ["", HARBOUR[:-1], HARBOUR + "h", HARBOUR.upper(), "\ud800"])
def test_other_tokens_grant_nothing(token: str) -> None:
    """Nearly right is wrong."""
    assert keys().show(token, "peer", 0) is None


def test_wrong_ones_are_counted() -> None:
    """Ten may be shown at once, then one in five seconds or so; right ones cost nothing."""
    held = keys()
    for number in range(10):
        assert 0 == held.wait("peer", 0)
        held.show(f"wrong {number}", "peer", 0)
        held.show(HARBOUR, "peer", 0)

    assert 5 < held.wait("peer", 0) < 6
    assert (0, 0) == (held.wait("another peer", 0), held.wait("peer", 6))


def test_a_session_ends() -> None:
    """By logging out, or after twelve hours."""
    clock = Clock()
    held = keys(clock)
    ended, old = held.log_in(HARBOUR), held.log_in(HARBOUR)
    held.log_out(ended)

    assert (None, True) == (held.recall(ended), held.recall(old) is not None)
    clock.go(12 * 3600)
    assert held.recall(old) is None


def test_somebody_must_be_let_in() -> None:
    """A server that nobody can use is a mistake."""
    with pytest.raises(ConfigurationError, match="DAGWRIGHT_TOKEN"):
        Keys({}, now=Clock().now, draw=str)


@pytest.mark.parametrize(
    ("peer", "network"),
    [
        pytest.param("192.0.2.1", "192.0.2.1", id="an address"),
        pytest.param("2001:db8::1", "2001:db8::/64", id="one of a network"),
        pytest.param("2001:db8::ffff:1", "2001:db8::/64", id="another of it"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", id="an address in the new way"),
        pytest.param("", "", id="nobody knows"),
    ],
)
def test_who_counts_as_one(peer: str, network: str) -> None:
    """Whoever has one address of version 6 has a whole network of them."""
    assert network == network_of(peer)
