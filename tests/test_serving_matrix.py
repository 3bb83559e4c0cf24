"""Every route of the real app, with every method, for everybody who may ask; generated from the app's own table."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import orjson
import pytest
from fastapi import FastAPI

from orchestrator import MemoryJournal
from orchestrator.server.app import create_app
from orchestrator.server.guard import Guard, GuardLimits, Policy, declares
from registry.errors import ConfigurationError
from tests.orchestrator.server.driving import Caller, in_state, service_of
from tests.orchestrator.server.guard.house import (
    BOARD,
    HARBOUR,
    LIGHTS,
    Answered,
    Headers,
    asked,
    bearer,
    guard,
    logged_in,
)

pytestmark = pytest.mark.anyio

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
SECRET = "the harbour's secret"
APPROVAL = {"goal": SECRET, "steps": [{"id": "ask", "kind": "approval", "question": SECRET}]}
ELSEWHERE = ("origin", "http://elsewhere.test")
JSON = ("content-type", "application/json")
COOKIE = ("cookie", "the one of the login")

MET = {200, 201, 204}
"""Statuses of what was asked for. Where a run has ended, 409 says that too."""

OPEN = {Policy.PUBLIC: {"/health"}, Policy.LOGIN: {"/v1/login", "/v1/logout"}}
"""What may be asked without a token. A route more is to be thought about twice."""


@dataclass(frozen=True)
class Asked:
    """One cell: a request, and the policy of its route, None where there is no such route."""

    method: str
    path: str
    policy: Policy | None

    @property
    def of_a_run(self) -> bool:
        return "{run}" in self.path

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class Port:
    """The real app with two runs of the tenant harbour: one that has ended, and one that waits for an approval."""

    guard: Guard
    journal: MemoryJournal
    over: str
    waiting: str
    bodies: Mapping[str, Any]

    async def ask(self, what: Asked, run: str, headers: Headers, peer: int = 1) -> Answered:
        """With a body that fits, where the route takes one."""
        body = orjson.dumps(self.bodies.get(what.path, {}))
        there = what.path.replace("{run}", run)
        with anyio.fail_after(60):
            return await asked(
                self.guard, what.method, there, [*headers, JSON], body=body, peer=f"198.51.{peer >> 8}.{peer & 255}"
            )

    async def facts(self) -> list[tuple[str, int]]:
        return sorted((listed.run, listed.facts) for listed in await self.journal.runs())

    @property
    def cells(self) -> list[Asked]:
        """Every path with every method."""
        known = {(method, path): policy for method, path, policy in self.guard.table}
        paths = sorted({path for _, path in known})
        return [Asked(method, path, known.get((method, path))) for path in paths for method in METHODS]


@asynccontextmanager
async def port() -> AsyncGenerator[Port, None]:
    journal = MemoryJournal()
    async with service_of(journal=journal) as service:
        app = create_app(service)
        served, bodies = guard(GuardLimits(rate=1e6, burst=1e6), inside=app), bodies_of(app)
        over, waiting = [await begun(served, wanted) for wanted in ({"goal": SECRET}, {"plan": APPROVAL})]
        owner = Caller(app, "harbour")
        await in_state(owner, over, "achieved")
        pending = (await in_state(owner, waiting, "suspended"))["waiting"][0]["id"]
        for decision in ("approve", "reject", "answer"):
            bodies[f"/v1/runs/{{run}}/{decision}"] = {"waiting": pending}
        yield Port(served, journal, over, waiting, bodies)


def bodies_of(app: FastAPI) -> dict[str, Any]:
    """Of each path that takes a body, the example that the app gives itself."""
    described = app.openapi()
    schemas, bodies = described["components"]["schemas"], {}
    for path, operations in described["paths"].items():
        body = operations.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json", {})
        for schema in (body.get("schema", {}), *body.get("schema", {}).get("anyOf", ())):
            if "$ref" in schema:
                bodies[path] = schemas[schema["$ref"].rpartition("/")[2]]["examples"][0]
    return bodies


async def begun(served: Guard, wanted: Mapping[str, Any]) -> str:
    answered = await asked(served, "POST", "/v1/runs", [bearer(HARBOUR), JSON], body=orjson.dumps(wanted))
    return str(answered.json["id"])


def without_a_token(cell: Asked) -> set[int]:
    """What is open answers, and all else looks the same."""
    match cell.policy:
        case Policy.PUBLIC:
            return {200}
        case Policy.LOGIN:
            return {204, 400}
        case _:
            return {401}


def as_another_tenant(cell: Asked) -> set[int]:
    """What is theirs is there for them, and the harbour's runs do not exist."""
    if cell.policy is None:
        return {405}
    return {404} if cell.of_a_run else MET | ({400} if cell.policy is Policy.LOGIN else set())


def as_a_reader(cell: Asked) -> set[int]:
    if cell.policy is None:
        return {405}
    return {403} if cell.policy is Policy.WRITE else MET | ({400} if cell.policy is Policy.LOGIN else set())


VISITORS = {
    "no token": ([], without_a_token),
    "wrong token": ([bearer("w" * 40)], without_a_token),
    "other tenant": ([bearer(LIGHTS)], as_another_tenant),
    "may only read": ([bearer(BOARD)], as_a_reader),
    "foreign Host": ([("host", "elsewhere.test"), bearer(HARBOUR)], lambda _: {421}),
    "foreign Host, cookie": ([("host", "elsewhere.test"), COOKIE], lambda _: {421}),
    "foreign Origin": ([ELSEWHERE, bearer(HARBOUR)], lambda _: {403}),
    "foreign Origin, cookie": ([ELSEWHERE, COOKIE], lambda _: {403}),
}


@pytest.mark.parametrize("visitor", VISITORS)
async def test_nobody_gets_what_is_not_theirs(visitor: str) -> None:
    """No answer but the right one, no word of the harbour's runs in any, and nothing has happened to these."""
    sent, right = VISITORS[visitor]
    async with port() as there:
        headers = [await logged_in(there.guard) if header is COOKIE else header for header in sent]
        before, wrong = await there.facts(), []
        for number, cell in enumerate(there.cells, 1):
            for run in (there.over, there.waiting):
                if visitor == "may only read" and cell.path.endswith("/events") and cell.policy and run == there.waiting:
                    continue  # it has no end
                answered = await there.ask(cell, run, headers, number)
                told = SECRET.encode() in answered.body and visitor != "may only read"
                if answered.status not in right(cell) or told or refused_otherwise(answered):
                    wrong.append((str(cell), answered.status, answered.body[:200]))
        after = [each for each in await there.facts() if each[0].startswith("harbour.")]

    assert [] == wrong
    assert before == after


def refused_otherwise(answered: Answered) -> bool:
    """Whether a refusal is no problem in JSON."""
    return answered.status >= 400 and answered.headers["content-type"] != "application/problem+json"


async def test_the_owner_gets_everything() -> None:
    """Every route lets in whoever has the right token, with the bodies that the others were refused with."""
    async with port() as there:
        let_in = [
            (str(cell), (await there.ask(cell, there.over, [bearer(HARBOUR)])).status) for cell in there.cells if cell.policy
        ]

    assert [] == [each for each in let_in if each[1] not in (200, 201, 202, 204, 409) and each[0] != "POST /v1/login"]
    assert 15 < len(let_in)


async def test_what_is_open() -> None:
    """Without a token there is only what tells nothing, and what a token is given to."""
    async with service_of() as service:
        served = guard(inside=create_app(service))

    assert {policy: {path for _, path, each in served.table if each is policy} for policy in OPEN} == OPEN


async def test_a_bare_route_keeps_the_server_from_starting() -> None:
    """A route that was added to the app without a policy is named, and nothing is served."""
    async with service_of() as service:
        app = create_app(service)
        app.get("/v1/news")(declares("read")(lambda: None))
        guard(inside=app)
        app.get("/v1/bare")(lambda: None)

        with pytest.raises(ConfigurationError, match="GET /v1/bare"):
            guard(inside=app)
