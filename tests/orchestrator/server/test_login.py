"""Logging in and out."""

import orjson
import pytest

from tests.orchestrator.server.guard.house import HARBOUR, HERE, app, asked, bearer, guard, logged_in

pytestmark = pytest.mark.anyio


async def test_the_cookie_is_out_of_reach() -> None:
    """No script reads it, no other site's page sends it, and it ends by itself."""
    body = orjson.dumps({"token": HARBOUR})
    answered = await asked(guard(), "POST", "/v1/login", body=body)
    cookie = answered.headers["set-cookie"]

    assert (204, b"") == (answered.status, answered.body)
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"))
    assert HARBOUR not in cookie
    assert "Domain" not in cookie


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(b'{"token": "%s"}' % (b"w" * 40), 401, id="a wrong token"),
        pytest.param(b'{"token": ""}', 401, id="an empty one"),
        pytest.param(b'{"token": "%s"}' % (b"w" * 2000), 400, id="a long one"),
        pytest.param(b'{"token": "%s", "more": 1}' % HARBOUR.encode(), 400, id="something else, too"),
        pytest.param(b'["%s"]' % HARBOUR.encode(), 400, id="a list"),
        pytest.param(b"token=" + HARBOUR.encode(), 400, id="a form"),
        pytest.param(b"\xff", 400, id="no text"),
        pytest.param(b"", 400, id="nothing"),
    ],
)
async def test_what_is_not_a_login(body: bytes, status: int) -> None:
    """There is no cookie, and nothing that was sent comes back."""
    answered = await asked(guard(), "POST", "/v1/login", body=body)

    assert status == answered.status == answered.json["status"]
    assert "set-cookie" not in answered.headers
    assert not body or body not in answered.body


@pytest.mark.parametrize("header", [("origin", "http://elsewhere.test"), ("sec-fetch-site", "cross-site")])
async def test_nobody_is_logged_in_by_a_page_elsewhere(header: tuple[str, str]) -> None:
    """Such a page could make a user work under a name that is not theirs."""
    answered = await asked(guard(), "POST", "/v1/login", [header], body=orjson.dumps({"token": HARBOUR}))

    assert (403, False) == (answered.status, "set-cookie" in answered.headers)


async def test_guessing_here_counts_as_anywhere() -> None:
    """Ten wrong tokens, and the next wrong one has to wait, wherever it is shown; a right one has not."""
    served = guard()
    statuses = [(await asked(served, "POST", "/v1/login", body=b'{"token": "w"}')).status for _ in range(11)]

    assert [401] * 10 + [429] == statuses
    assert 429 == (await asked(served, "GET", "/v1/runs/a", [bearer("w" * 40)])).status
    assert 200 == (await asked(served, "GET", "/v1/runs/a", [bearer(HARBOUR)])).status


async def test_logging_out_ends_one_session() -> None:
    """Others of the same token go on, and who had none is told the same."""
    served = guard()
    one, other = await logged_in(served), await logged_in(served)

    for header in (one, ("cookie", "dagwright=0"), ("x-no", "cookie")):
        answered = await asked(served, "POST", "/v1/logout", [header, ("origin", HERE)])
        assert (204, True) == (answered.status, 'dagwright=""' in answered.headers["set-cookie"])
    statuses = [(await asked(served, "GET", "/v1/runs/a", [cookie])).status for cookie in (one, other)]
    assert [401, 200] == statuses


def test_the_routes_are_described() -> None:
    """The API's description has them, with the body that is read by hand."""
    inside = app()
    guard(inside=inside)
    login = inside.openapi()["paths"]["/v1/login"]["post"]

    assert ["token"] == login["requestBody"]["content"]["application/json"]["schema"]["required"]
    assert {"204", "400", "401", "429"} <= set(login["responses"])
