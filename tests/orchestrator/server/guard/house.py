"""A small app behind the guard, and a way to ask it that shows every message."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

import anyio
import orjson
from fastapi import FastAPI, Request
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Message

from orchestrator.server.guard import Grant, Guard, GuardLimits, Hosts, Keys, declares
from orchestrator.server.guard.tokens import digest_of
from orchestrator.server.login import login_routes

HARBOUR, LIGHTS, BOARD = "harbour-" + "h" * 32, "lights-" + "l" * 32, "board-" + "b" * 32
"""Tokens: of two tenants, and one that may only read the first one's."""

GRANTS = {
    digest_of(HARBOUR): Grant(tenant="harbour"),
    digest_of(LIGHTS): Grant(tenant="lights"),
    digest_of(BOARD): Grant(tenant="harbour", writes=False),
}
NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
HOST, HERE = "dagwright.test", "http://dagwright.test"


@dataclass
class Clock:
    """A wall clock that goes when it is told to."""

    at: datetime = NOON

    def now(self) -> datetime:
        return self.at

    def go(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def keys(clock: Clock | None = None) -> Keys:
    numbers = count()
    return Keys(GRANTS, now=(clock or Clock()).now, draw=lambda: f"nonce-of-the-test-{next(numbers)}")


def app() -> FastAPI:
    """One route of each policy, and one that never ends."""
    made = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @made.get("/health")
    @declares("public")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @made.get("/v1/runs/{run}")
    @declares("read")
    async def run(run: str, request: Request) -> dict[str, str]:
        return {"run": run, "tenant": request.state.tenant}

    @made.post("/v1/runs")
    @declares("write")
    async def begin(request: Request) -> dict[str, object]:
        return {"size": len(await request.body()), "tenant": request.state.tenant}

    @made.get("/v1/events")
    @declares("read")
    async def events() -> StreamingResponse:
        async def forever() -> AsyncIterator[bytes]:
            yield b": open\n\n"
            await anyio.sleep_forever()

        return StreamingResponse(forever(), media_type="text/event-stream")

    return made


def guard(limits: GuardLimits | None = None, *, held: Keys | None = None, inside: FastAPI | None = None) -> Guard:
    known = held or keys()
    served = inside or app()
    served.include_router(login_routes(known))
    return Guard(served, keys=known, hosts=Hosts.of(HOST), limits=limits)


@dataclass
class Answered:
    """What came back. `messages` are those of the app."""

    messages: list[Message] = field(default_factory=list)

    @property
    def status(self) -> int:
        return self.messages[0]["status"]  # type: ignore[no-any-return]

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages[1:])

    @property
    def json(self) -> dict[str, object]:
        return orjson.loads(self.body)  # type: ignore[no-any-return]


Headers = Iterable[tuple[str, str]]


def scope_of(
    method: str, path: str, headers: Headers = (), *, scheme: str = "http", peer: str = "192.0.2.1"
) -> dict[str, object]:
    """A request as a server hands it over; with the right Host where none is given."""
    given = [*headers]
    if not any(name == "host" for name, _ in given):
        given.append(("host", HOST))
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "scheme": scheme,
        "client": (peer, 50000),
        "server": (HOST, 80),
        "http_version": "1.1",
        "headers": [(name.encode(), value.encode()) for name, value in given],
        "state": {},
    }


async def asked(
    served: ASGIApp,
    method: str,
    path: str,
    headers: Headers = (),
    *,
    body: bytes | Iterable[bytes] = b"",
    scheme: str = "http",
    peer: str = "192.0.2.1",
) -> Answered:
    """What the app answers. After the body's parts nothing more comes from the peer."""
    parts = [body] if isinstance(body, bytes) else list(body)
    answered = Answered()

    async def receive() -> Message:
        if not parts:
            await anyio.sleep_forever()
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        answered.messages.append(message)

    await served(scope_of(method, path, headers, scheme=scheme, peer=peer), receive, send)
    return answered


def bearer(token: str) -> tuple[str, str]:
    return ("authorization", f"Bearer {token}")


async def logged_in(served: ASGIApp, token: str = HARBOUR, *, scheme: str = "http") -> tuple[str, str]:
    """The header with the cookie that the token is exchanged for."""
    json = ("content-type", "application/json")
    answered = await asked(served, "POST", "/v1/login", [json], body=orjson.dumps({"token": token}), scheme=scheme)
    assert answered.status == 204
    return ("cookie", answered.headers["set-cookie"].partition(";")[0])
