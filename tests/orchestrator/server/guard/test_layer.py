"""The layer around the app: every policy against everybody who may ask."""

import logging
from collections.abc import Iterator, MutableMapping
from itertools import product
from typing import Any

import anyio
import pytest
import structlog
from fastapi import FastAPI
from structlog.testing import capture_logs

from orchestrator.server.guard import BodyLimits, GuardLimits, Policy, declares
from registry.errors import ConfigurationError
from tests.orchestrator.server.guard.house import (
    BOARD,
    HARBOUR,
    HERE,
    LIGHTS,
    Answered,
    Clock,
    Headers,
    app,
    asked,
    bearer,
    guard,
    keys,
    logged_in,
    scope_of,
)

pytestmark = pytest.mark.anyio

ROUTES = {
    "public": ("GET", "/health"),
    "read": ("GET", "/v1/runs/r1"),
    "write": ("POST", "/v1/runs"),
    "login": ("POST", "/v1/logout"),
    "nothing": ("GET", "/v1/nothing"),
    "other method": ("DELETE", "/v1/runs"),
}

ELSEWHERE = ("origin", "http://elsewhere.test")
COOKIE = ("cookie", "the one of the login")

VISITORS: dict[str, tuple[list[tuple[str, str]], tuple[int, int, int, int, int, int]]] = {
    # who asks: what they send, and what each of the routes above answers
    "no token": ([], (200, 401, 401, 204, 401, 401)),
    "wrong token": ([bearer("w" * 40)], (200, 401, 401, 204, 401, 401)),
    "another kind of header": ([("authorization", "Basic aGFyYm91cg==")], (200, 401, 401, 204, 401, 401)),
    "the token without its kind": ([("authorization", HARBOUR)], (200, 401, 401, 204, 401, 401)),
    "two tokens": ([bearer(HARBOUR), bearer(LIGHTS)], (200, 400, 400, 204, 400, 400)),
    "token": ([bearer(HARBOUR)], (200, 200, 200, 204, 404, 405)),
    "token of another tenant": ([bearer(LIGHTS)], (200, 200, 200, 204, 404, 405)),
    "token that may only read": ([bearer(BOARD)], (200, 200, 403, 204, 404, 405)),
    "foreign Host": ([("host", "elsewhere.test"), bearer(HARBOUR)], (421,) * 6),
    "two Hosts": ([("host", "dagwright.test"), ("host", "elsewhere.test"), bearer(HARBOUR)], (421,) * 6),
    "foreign Origin": ([ELSEWHERE, bearer(HARBOUR)], (403,) * 6),
    "no Origin that there is": ([("origin", "null"), bearer(HARBOUR)], (403,) * 6),
    "own Origin": ([("origin", HERE), bearer(HARBOUR)], (200, 200, 200, 204, 404, 405)),
    "cookie, own Origin": ([COOKIE, ("origin", HERE)], (200, 200, 200, 204, 404, 405)),
    "cookie, own site": ([COOKIE, ("sec-fetch-site", "same-origin")], (200, 200, 200, 204, 404, 405)),
    "cookie, typed by the user": ([COOKIE, ("sec-fetch-site", "none")], (200, 200, 403, 204, 404, 403)),
    "cookie, nothing said": ([COOKIE], (200, 200, 403, 204, 404, 403)),
    "cookie, foreign Origin": ([COOKIE, ELSEWHERE], (403,) * 6),
    "cookie, foreign site": ([COOKIE, ("sec-fetch-site", "cross-site")], (200, 403, 403, 403, 403, 403)),
    "cookie, another port": ([COOKIE, ("sec-fetch-site", "same-site")], (200, 403, 403, 403, 403, 403)),
    "wrong cookie": ([("cookie", "dagwright=0"), ("origin", HERE)], (200, 401, 401, 204, 401, 401)),
}


@pytest.mark.parametrize(("visitor", "route"), [*product(VISITORS, ROUTES)])
async def test_everybody_at_every_door(visitor: str, route: str) -> None:
    """Nobody gets what they may not have, and what they are told is a problem in JSON."""
    sent, statuses = VISITORS[visitor]
    served = guard()
    headers = [await logged_in(served) if header is COOKIE else header for header in sent]
    method, path = ROUTES[route]

    answered = await asked(served, method, path, headers)

    assert statuses[list(ROUTES).index(route)] == answered.status
    if answered.status >= 400:
        assert "application/problem+json" == answered.headers["content-type"]
        assert answered.status == answered.json["status"]
    assert ("www-authenticate" in answered.headers) == (answered.status in (400, 401) or (visitor, answered.status) == READ_ONLY)


READ_ONLY = ("token that may only read", 403)


@pytest.mark.parametrize(("token", "tenant"), [(HARBOUR, "harbour"), (LIGHTS, "lights"), (BOARD, "harbour")])
async def test_the_app_knows_the_tenant(token: str, tenant: str) -> None:
    """It is that of the token, however it was shown."""
    served = guard()

    for header in (bearer(token), await logged_in(served, token)):
        assert {"run": "r1", "tenant": tenant} == (await asked(served, "GET", "/v1/runs/r1", [header])).json


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "TRACE", "get"])
@pytest.mark.parametrize(
    "path",
    ["/v1/runs/r1/", "//v1/runs/r1", "/v1/./runs/r1", "/health/../v1/runs/r1", "/v1/runs/a/b", "/health/", "/openapi.json", ""],
)
async def test_no_way_around(method: str, path: str) -> None:
    """However a path is written, without a token it is not let in; with one there is nothing there, and no redirect."""
    served = guard()

    assert 401 == (await asked(served, method, path)).status
    assert (await asked(served, method, path, [bearer(HARBOUR)])).status == 404


async def test_a_route_without_a_policy_is_not_served() -> None:
    """It is named, and nothing starts."""
    bare = app()
    bare.get("/v1/bare")(lambda: None)

    with pytest.raises(ConfigurationError, match="GET /v1/bare"):
        guard(inside=bare)


async def test_a_route_that_comes_later_is_not_there() -> None:
    """What was not looked at when the guard was made is not reached."""
    inside = app()
    served = guard(inside=inside)
    inside.get("/v1/late")(lambda: "here")

    assert 404 == (await asked(served, "GET", "/v1/late", [bearer(HARBOUR)])).status


async def test_a_websocket_is_refused() -> None:
    """There are none here, so none is let in."""
    told = []

    async def send(message: object) -> None:
        told.append(message)

    await guard()({**scope_of("GET", "/health"), "type": "websocket"}, anyio.sleep_forever, send)  # type: ignore[arg-type]

    assert [{"type": "websocket.close", "code": 1008}] == told


async def test_guessing_is_slowed_for_one_peer() -> None:
    """After ten wrong tokens further ones of that network have to wait; a right one is let in all the same."""
    served = guard()
    cookie = await logged_in(served)
    ours, theirs = "2001:db8::1", "2001:db8::2"

    for number in range(10):
        assert 401 == (await asked(served, "GET", "/v1/runs/r1", [bearer(f"{number}" * 40)], peer=ours)).status
    for _ in range(3):  # which prolong nothing
        refused = await asked(served, "GET", "/v1/runs/r1", [bearer("w" * 40)], peer=theirs)

    assert (429, "6") == (refused.status, refused.headers["retry-after"])
    assert 401 == (await asked(served, "GET", "/v1/runs/r1", [bearer("w" * 40)])).status
    assert 200 == (await asked(served, "GET", "/v1/runs/r1", [bearer(HARBOUR)], peer=ours)).status
    assert 200 == (await asked(served, "GET", "/v1/runs/r1", [cookie], peer=ours)).status
    await anyio.sleep(6)
    assert 401 == (await asked(served, "GET", "/v1/runs/r1", [bearer("w" * 40)], peer=ours)).status


async def test_a_tenant_that_hurries_waits() -> None:
    """It is told how long, and others go on."""
    served = guard(GuardLimits(rate=1, burst=2))
    statuses = [(await asked(served, "GET", "/v1/runs/r1", [bearer(HARBOUR)])).status for _ in range(3)]

    assert [200, 200, 429] == statuses
    assert 200 == (await asked(served, "GET", "/v1/runs/r1", [bearer(LIGHTS)])).status
    assert 200 == (await asked(served, "GET", "/health")).status


async def test_a_cookie_ends() -> None:
    """Logging out ends it, time ends it, and both ways it is a 401."""
    clock = Clock()
    served = guard(held=keys(clock))
    ended, old = await logged_in(served), await logged_in(served)

    out = await asked(served, "POST", "/v1/logout", [ended, ("origin", HERE)])
    assert (204, True) == (out.status, "Max-Age=0" in out.headers["set-cookie"])
    assert 401 == (await asked(served, "GET", "/v1/runs/r1", [ended])).status
    assert 200 == (await asked(served, "GET", "/v1/runs/r1", [old])).status
    clock.go(12 * 3600)
    assert 401 == (await asked(served, "GET", "/v1/runs/r1", [old])).status


async def test_over_tls_the_cookie_is_another() -> None:
    """Its name has the prefix that keeps other hosts from setting it, and one that came unencrypted is none."""
    served = guard()
    plain, safe = await logged_in(served), await logged_in(served, scheme="https")

    assert safe[1].startswith("__Host-dagwright=")
    assert 200 == (await asked(served, "GET", "/v1/runs/r1", [safe], scheme="https")).status
    assert 401 == (await asked(served, "GET", "/v1/runs/r1", [plain], scheme="https")).status


SMALL = GuardLimits(body=BodyLimits(size=1000, seconds=2, depth=3, values=20))


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        pytest.param([], [b"[" * 3 + b"]" * 3], 200, id="as deep as may be"),
        pytest.param([], [b"[" * 4 + b"]" * 4], 400, id="too deep"),
        pytest.param([], [b"[", b"1,", b"1," * 30, b"1]"], 400, id="too many values"),
        pytest.param([], [b" " * 1000], 200, id="as large as may be"),
        pytest.param([], [b" " * 600, b" " * 600, b""], 413, id="too large, in pieces"),
        pytest.param([("content-length", "1001")], [], 413, id="too large, and says so"),
        pytest.param([("content-type", "text/plain")], [b"[" * 4], 200, id="no JSON"),
    ],
)
async def test_bodies_within_limits(headers: Headers, body: list[bytes], status: int) -> None:
    """The app sees a body only when it is fit, and then the whole of it."""
    answered = await asked(guard(SMALL), "POST", "/v1/runs", [bearer(HARBOUR), *headers], body=body)

    assert status == answered.status
    if status == 200:
        assert answered.json["size"] == sum(map(len, body))
    else:
        assert answered.headers["connection"] == "close"


async def test_a_body_that_does_not_come() -> None:
    """It is waited for so long, and the app is not asked."""
    answered = await asked(guard(SMALL), "POST", "/v1/runs", [bearer(HARBOUR)], body=[])

    assert 408 == answered.status


async def test_nothing_is_read_for_a_stranger() -> None:
    """Who has no token is told so before the body has come."""
    answered = await asked(guard(SMALL), "POST", "/v1/runs", body=[])

    assert 401 == answered.status


async def test_streams_have_places() -> None:
    """A tenant has so many, whoever finds none is told, and one that ends leaves its place."""
    served = guard(GuardLimits(streams=1))

    async with anyio.create_task_group() as group:
        group.start_soon(asked, served, "GET", "/v1/events", [bearer(HARBOUR)])
        await anyio.wait_all_tasks_blocked()
        refused = await asked(served, "GET", "/v1/events", [bearer(HARBOUR)])
        with anyio.move_on_after(1) as others:
            await asked(served, "GET", "/v1/events", [bearer(LIGHTS)])
        group.cancel_scope.cancel()
    with anyio.move_on_after(1) as again:
        await asked(served, "GET", "/v1/events", [bearer(HARBOUR)])

    assert (429, "5") == (refused.status, refused.headers["retry-after"])
    assert others.cancelled_caught
    assert again.cancelled_caught


async def test_streams_end_when_the_server_does() -> None:
    """What is open ends as if it were over, and none is opened any more."""
    served, answers = guard(), list[Answered]()

    async def follow() -> None:
        answers.append(await asked(served, "GET", "/v1/events", [bearer(HARBOUR)]))

    async with anyio.create_task_group() as group:
        group.start_soon(follow)
        await anyio.wait_all_tasks_blocked()
        served.streams.close()
    await follow()

    first, second = answers
    assert (200, b": open\n\n") == (first.status, first.body)
    assert {"type": "http.response.body", "body": b"", "more_body": False} == first.messages[-1]
    assert 429 == second.status


async def test_streams_end_when_their_session_does() -> None:
    """Who logs out reads on nowhere; another session, and a token, do."""
    served = guard()
    one, other = await logged_in(served), await logged_in(served)
    page, answers = ("sec-fetch-site", "same-origin"), dict[str, Answered]()

    async def follow(name: str, *headers: tuple[str, str]) -> None:
        answers[name] = await asked(served, "GET", "/v1/events", list(headers))

    async with anyio.create_task_group() as group:
        group.start_soon(follow, "one", one, page)
        group.start_soon(follow, "other", other, page)
        group.start_soon(follow, "token", bearer(HARBOUR), one)
        await anyio.wait_all_tasks_blocked()
        await asked(served, "POST", "/v1/logout", [one, ("origin", HERE)])
        await anyio.sleep(1)
        group.cancel_scope.cancel()

    assert ["one"] == [*answers]
    assert {"type": "http.response.body", "body": b"", "more_body": False} == answers["one"].messages[-1]


async def test_what_leaves_is_kept_by_none() -> None:
    """Answers stay out of caches, and browsers don't guess what they are."""
    answered = await asked(guard(), "GET", "/v1/runs/r1", [bearer(HARBOUR)])

    assert ("no-store", "nosniff") == (answered.headers["cache-control"], answered.headers["x-content-type-options"])


@pytest.fixture
def lines() -> Iterator[list[MutableMapping[str, Any]]]:
    """All that is logged, in a program that has set up logs."""
    structlog.configure()
    with capture_logs() as logged:
        yield logged
    structlog.reset_defaults()


async def test_tokens_are_told_to_nobody(caplog: pytest.LogCaptureFixture, lines: list[MutableMapping[str, Any]]) -> None:
    """No answer, log line or representation has a token, right or wrong, or a cookie."""
    held = keys()
    served = guard(held=held)
    wrong = "wrong-" + "w" * 40
    with caplog.at_level(logging.DEBUG):
        cookie = await logged_in(served)
        answers = [
            await asked(served, "GET", "/v1/runs/r1", [bearer(wrong)]),
            await asked(served, "GET", "/v1/runs/r1", [bearer(HARBOUR)]),
            await asked(served, "POST", "/v1/login", body=b'{"tokn": "%s"}' % wrong.encode()),
            await asked(served, "POST", "/v1/login", body=b'{"token": ["%s"]}' % wrong.encode()),
        ]

    told = "".join(repr(answer.messages) for answer in answers)
    seen = caplog.text + told + repr((lines, held, served, vars(held), vars(served)))
    assert not any(secret in seen for secret in (wrong, HARBOUR, cookie[1].partition("=")[2]))


async def test_who_was_refused_is_logged(lines: list[MutableMapping[str, Any]]) -> None:
    """With what an operator needs to find them."""
    await asked(guard(), "GET", "/v1/runs/r1")

    expected = {"event": "request_refused", "status": 401, "kind": "unauthorized", "peer": "192.0.2.1"}
    assert [{**expected, "log_level": "debug"}] == lines


def test_the_table_can_be_walked() -> None:
    """Each method, path and policy is there for those who want to try them all."""
    assert ("POST", "/v1/runs", Policy.WRITE) in list(guard().table)


async def test_a_mounted_app_has_one_policy() -> None:
    """It holds for all that is in it."""
    inside, page = app(), FastAPI(openapi_url=None)
    page.get("/any")(lambda: "here")
    inside.mount("/page", declares("read")(page))
    served = guard(inside=inside)

    assert 401 == (await asked(served, "GET", "/page/any")).status
    assert 200 == (await asked(served, "GET", "/page/any", [bearer(HARBOUR)])).status
