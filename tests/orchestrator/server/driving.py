"""The API without sockets: a caller that reads answers piece by piece, and a service to call."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
import orjson

from orchestrator import MemoryJournal, Ports
from orchestrator.hooks import Hook
from orchestrator.journal.protocol import Journal
from orchestrator.limits import Limits
from orchestrator.server.app import create_app
from orchestrator.server.service import WIDTH, Service
from orchestrator.unwrapping import sole_error
from registry.calls import Call
from registry.messages import Json, Piece, Reply, Request
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.tools.registry import ToolRegistry
from tests.orchestrator.parts import judged, part_of, planned, played

Asgi = Callable[..., Any]


@dataclass
class Answered:
    """One answer, whole or as far as it has come."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = False

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@dataclass
class Event:
    """One server-sent event."""

    channel: str
    data: Any
    id: str


def events_of(body: bytes) -> list[Event]:
    """The events that are whole in it; comments are no events."""
    found = []
    for block in body.decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if "data" in fields:
            found.append(Event(fields["event"], orjson.loads(fields["data"]), fields.get("id", "")))
    return found


class Stream:
    """An answer that is still coming. Leaving it is what a client does that goes away."""

    def __init__(self, app: Asgi, scope: dict[str, Any], body: bytes) -> None:
        self.answer = Answered()
        self._app, self._scope, self._body = app, scope, body
        self._gone, self._news = anyio.Event(), anyio.Event()
        self._asked = False
        self.stalled = self.over = False
        self.largest = 0

    @property
    def events(self) -> list[Event]:
        return events_of(self.answer.body)

    async def run(self) -> None:
        await self._app(self._scope, self._receive, self._send)
        self.over = True
        self._news.set()

    def leave(self) -> None:
        self._gone.set()

    async def until(self, there: Callable[[], bool], *, seconds: float = 60) -> None:
        with anyio.fail_after(seconds):
            while not there():
                self._news = anyio.Event()
                await self._news.wait()

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Mapping[str, Any]) -> None:
        self.largest = max(self.largest, len(message.get("body", b"")))
        if self.stalled:
            await anyio.sleep_forever()
        if message["type"] == "http.response.start":
            self.answer.status = message["status"]
            self.answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.answer.body += message.get("body", b"")
            self.answer.whole = not message.get("more_body", False)
        self._news.set()
        await anyio.lowlevel.checkpoint()


class Caller:
    """Calls the API as one tenant."""

    def __init__(self, app: Asgi, tenant: str = "acme") -> None:
        self._app, self._tenant = app, tenant

    async def get(self, path: str, **headers: str) -> Answered:
        return await self.call("GET", path, None, headers)

    async def post(self, path: str, body: Json = None, **headers: str) -> Answered:
        return await self.call("POST", path, body, headers)

    async def call(self, method: str, path: str, body: Json, headers: Mapping[str, str]) -> Answered:
        stream = self._stream(method, path, body, headers)
        await stream.run()
        return stream.answer

    @asynccontextmanager
    async def open(self, path: str, body: Json = None, **headers: str) -> AsyncGenerator[Stream, None]:
        """An answer to read while it comes. Leaving the block is leaving the stream."""
        stream = self._stream("GET" if body is None else "POST", path, body, headers)
        with sole_error():
            async with anyio.create_task_group() as group:
                group.start_soon(stream.run)
                try:
                    await stream.until(lambda: bool(stream.answer.status))
                    yield stream
                finally:
                    stream.leave()

    async def followed(self, run: str, **headers: str) -> list[Event]:
        """Every event of the run, to its end."""
        answer = await self.get(f"/v1/runs/{run}/events", **headers)
        assert answer.status == 200, answer
        return events_of(answer.body)

    def _stream(self, method: str, path: str, body: Json, headers: Mapping[str, str]) -> Stream:
        path, _, query = path.partition("?")
        sent = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "state": {"tenant": self._tenant},
        }
        return Stream(self._app, scope, body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body))


def ordinary(*, step: Any = None, answer: str = "The harbours differ in their ice.") -> Model:
    """Plays every part of any number of small runs: two steps side by side, found good, and an answer."""
    return played(
        plan=lambda _: planned("north", "south"),
        step=step or (lambda request: f"found for {request.messages[1].text[:20]}"),
        verdict=lambda _: judged(True),
        synthesis=lambda _: answer,
    )


def service_of(
    model: Model | ModelRegistry | None = None,
    *,
    journal: Journal | None = None,
    tools: Iterable[Any] = (),
    limits: Limits | None = None,
    hooks: Iterable[Hook] = (),
    ports: Ports | None = None,
    width: int = WIDTH,
) -> Service:
    models = model if isinstance(model, ModelRegistry) else ModelRegistry(model or ordinary())
    return Service(
        models, ToolRegistry(tools), journal=journal or MemoryJournal(), limits=limits, hooks=hooks, ports=ports, width=width
    )


@asynccontextmanager
async def served(service: Service | None = None) -> AsyncGenerator[Caller, None]:
    """A service with a caller of it, who is the tenant `acme`."""
    service = service or service_of()
    async with service:
        yield Caller(create_app(service))


async def ended(caller: Caller, run: str) -> Json:
    """The run, when it has come to its end."""
    await caller.followed(run)
    return (await caller.get(f"/v1/runs/{run}")).json


async def in_state(caller: Caller, run: str, *states: str) -> Json:
    """The run, when it is in one of these states."""
    with anyio.fail_after(60):
        while True:
            report = (await caller.get(f"/v1/runs/{run}")).json
            if report["state"] in states:
                return report
            await anyio.sleep(0.05)


class Held(ModelLayer):
    """A model whose replies to one part wait until they are let go. Counts who asked and who did not wait for the reply."""

    def __init__(self, inner: Model, part: str = "step") -> None:
        super().__init__(inner)
        self.open, self._news, self._part = anyio.Event(), anyio.Event(), part
        self.asked = self.left = 0

    async def chat(self, request: Request, call: Call) -> Reply:
        await self._wait(request)
        return await self._inner.chat(request, call)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        await self._wait(request)
        async with aclosing(self._inner.stream_chat(request, call)) as pieces:
            async for piece in pieces:
                yield piece

    async def _wait(self, request: Request) -> None:
        if part_of(request) != self._part:
            return
        self.asked += 1
        self._news.set()
        self._news = anyio.Event()
        waited = False
        try:
            await self.open.wait()
            waited = True
        finally:
            self.left += not waited

    async def until_asked(self, times: int = 1) -> None:
        with anyio.fail_after(60):
            while self.asked < times:
                await self._news.wait()
