"""What the head of a request says."""

import pytest

from orchestrator.server.guard.visits import Visit
from tests.orchestrator.server.guard.house import Headers, scope_of


@pytest.mark.parametrize(
    ("headers", "name", "said"),
    [
        pytest.param([("authorization", "Bearer abc")], "tokens", ("abc",), id="a token"),
        pytest.param([("authorization", "bearer  abc ")], "tokens", ("abc",), id="in small letters"),
        pytest.param([("authorization", "Bearer")], "tokens", ("",), id="a token of nothing"),
        pytest.param([("authorization", "Basic abc")], "tokens", (), id="another kind"),
        pytest.param([("authorization", "Bearerabc")], "tokens", (), id="another word"),
        pytest.param([("authorization", "Bearer a"), ("authorization", "Bearer b")], "tokens", ("a", "b"), id="two"),
        pytest.param([("cookie", "a=1; dagwright=x; b=2")], "cookie", "x", id="our cookie among others"),
        pytest.param([("cookie", "a=1"), ("cookie", "dagwright=x")], "cookie", "x", id="in a header of its own"),
        pytest.param([("cookie", "a[]=}; dagwright=x")], "cookie", "x", id="beside a strange one"),
        pytest.param([("cookie", "__Host-dagwright=x")], "cookie", "", id="that of another scheme"),
        pytest.param([("host", "a"), ("host", "b")], "host", "a, b", id="two hosts"),
        pytest.param([("origin", "http://a"), ("origin", "http://b")], "origin", "http://a, http://b", id="two origins"),
        pytest.param([("sec-fetch-site", "none")], "site", "none", id="where the page is"),
        pytest.param([], "peer", "192.0.2.1", id="who asks"),
    ],
)
def test_what_is_read(headers: Headers, name: str, said: object) -> None:
    """Nothing is guessed, and what comes twice is not one of the two."""
    assert said == getattr(Visit.of(scope_of("GET", "/", headers)), name)


def test_nobody_knows_the_peer() -> None:
    """A socket of the machine has no address."""
    assert "" == Visit.of({**scope_of("GET", "/"), "client": None}).peer


@pytest.mark.parametrize(("method", "safe"), [("GET", True), ("HEAD", True), ("OPTIONS", True), ("POST", False), ("get", False)])
def test_what_changes_nothing(method: str, safe: bool) -> None:
    """What is not known to be safe is not."""
    assert safe == Visit.of(scope_of(method, "/")).is_safe
