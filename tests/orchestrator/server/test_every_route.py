"""Every route of the real API, from its own table, against everybody who may ask."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest

from orchestrator.server.app import create_app
from orchestrator.server.guard import Guard, Policy
from tests.orchestrator.server.driving import ended, service_of
from tests.orchestrator.server.guard.house import BOARD, HARBOUR, LIGHTS, Answered, Headers, asked, bearer, guard

pytestmark = pytest.mark.anyio

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
JSON = ("content-type", "application/json")
KEPT_OUT = (401, 403, 421)


@dataclass
class Api:
    """The API behind its guard, with one run of the tenant harbour that has ended."""

    served: Guard
    run: str = ""

    async def ask(self, method: str, path: str, *headers: tuple[str, str], run: str = "", body: bytes = b"{}") -> Answered:
        path = path.replace("{run}", run or self.run)
        return await asked(self.served, method, path, [*headers, JSON], body=body)

    async def get(self, path: str, **headers: str) -> Answered:
        return await self.ask("GET", path, bearer(HARBOUR), *headers.items())

    async def followed(self, run: str) -> None:
        await self.get(f"/v1/runs/{run}/events")


@asynccontextmanager
async def api() -> AsyncGenerator[Api, None]:
    async with service_of() as service:
        made = Api(guard(inside=create_app(service)))
        begun = await made.ask("POST", "/v1/runs", bearer(HARBOUR), body=b'{"goal": "Compare the harbours"}')
        made.run = str(begun.json["id"])
        await ended(made, made.run)  # type: ignore[arg-type]
        yield made


FOREIGN_HOST, FOREIGN_ORIGIN = ("host", "elsewhere.test"), ("origin", "http://elsewhere.test")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param([], {"public": 200, "read": 401, "write": 401, "login": 0}, id="no token"),
        pytest.param([bearer("w" * 40)], {"public": 200, "read": 401, "write": 401, "login": 0}, id="wrong token"),
        pytest.param([bearer(BOARD)], {"public": 200, "read": 0, "write": 403, "login": 0}, id="token that only reads"),
        pytest.param([bearer(HARBOUR)], {"public": 200, "read": 0, "write": 0, "login": 0}, id="token"),
        pytest.param([bearer(HARBOUR), FOREIGN_HOST], dict.fromkeys(Policy, 421), id="foreign Host"),
        pytest.param([bearer(HARBOUR), FOREIGN_ORIGIN], dict.fromkeys(Policy, 403), id="foreign Origin"),
    ],
)
async def test_each_route_asks_for_what_it_declares(headers: Headers, status: dict[str, int]) -> None:
    """0: not kept out, whatever the app says of a request without sense; it never fails."""
    async with api() as made:
        for method, path, policy in made.served.table:
            answered = await asked_slowly(made, method, path, headers)
            if status[policy]:
                assert status[policy] == answered.status, (method, path)
            else:
                assert answered.status not in KEPT_OUT, (method, path)
                assert answered.status < 500, (method, path)


async def asked_slowly(made: Api, method: str, path: str, headers: Headers) -> Answered:
    """So slowly that guesses are not what is refused."""
    await anyio.sleep(10)
    return await made.ask(method, path, *headers)


async def test_no_other_method_is_there() -> None:
    """Without a token it is not said which there are."""
    async with api() as made:
        table = [*made.served.table]
        for path in {path for _, path, _ in table}:
            for method in {*METHODS} - {method for method, other, _ in table if other == path}:
                assert 401 == (await made.ask(method, path)).status
                assert 405 == (await made.ask(method, path, bearer(HARBOUR))).status


async def test_another_tenant_s_run_is_a_run_that_never_was() -> None:
    """Whatever is asked of it, and whoever it may be."""
    async with api() as made:
        for method, path, _ in made.served.table:
            if "{run}" not in path:
                continue
            never = made.run[:-1] + ("0" if made.run[-1] != "0" else "1")
            theirs = await made.ask(method, path, bearer(LIGHTS))
            nobody = await made.ask(method, path, bearer(LIGHTS), run=never)

            assert theirs.status == nobody.status, (method, path)
            assert theirs.status in (404, 422), (method, path)
            assert theirs.body.replace(made.run.encode(), b"") == nobody.body.replace(never.encode(), b"")


async def test_lists_have_one_s_own_alone() -> None:
    """One tenant's runs are not in another's list."""
    async with api() as made:
        ours, theirs = await made.ask("GET", "/v1/runs", bearer(BOARD)), await made.ask("GET", "/v1/runs", bearer(LIGHTS))

        assert (True, False) == (made.run.encode() in ours.body, made.run.encode() in theirs.body)
        assert [] == theirs.json["runs"]
