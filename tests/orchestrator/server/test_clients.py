"""Clients that are not ours follow a run over a real connection, are cut off, and come back."""

import shutil
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest
from httpx_sse import aconnect_sse

from orchestrator.server.app import create_app
from orchestrator.server.service import Service
from tests.backends import Backend, backend
from tests.orchestrator.server.driving import Held, events_of, ordinary, service_of
from tests.orchestrator.server.guard.house import HARBOUR, HOST, guard
from tests.orchestrator.server.live import Live, served
from tests.orchestrator.server.test_feeds import shown

pytestmark = [pytest.mark.anyio, pytest.mark.real_clock]

HEADERS = {"host": HOST, "authorization": f"Bearer {HARBOUR}"}
ANSWER = "The harbours differ in their ice."


@pytest.fixture
def anyio_backend() -> Backend:
    """What uvicorn needs."""
    return backend("asyncio", virtual=False)


@asynccontextmanager
async def running(model: Held) -> AsyncGenerator[tuple[httpx.AsyncClient, str], None]:
    """A server with a run under way, whose answer the model holds back: a client for it, and the path of its events."""
    async with serving(service_of(model)) as (_, client):
        run = (await client.post("/v1/runs", json={"goal": "Compare the harbours"})).json()["id"]
        await model.until_asked()
        yield client, f"/v1/runs/{run}/events"


@asynccontextmanager
async def serving(service: Service) -> AsyncGenerator[tuple[Live, httpx.AsyncClient], None]:
    async with (
        service,
        served(guard(inside=create_app(service)), drain=service.drain) as live,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{live.port}", headers=HEADERS) as client,
    ):
        yield live, client


async def followed(client: httpx.AsyncClient, path: str, over: Callable[[bytes], bool], last: str = "") -> bytes:
    """All that comes until somebody has enough of it, or the stream ends."""
    came, headers, before = b"", {"last-event-id": last} if last else {}, ""
    async with aconnect_sse(client, "GET", path, headers=headers) as source:
        source.response.raise_for_status()
        async for event in source.aiter_sse():
            own = "" if event.id == before else f"id: {event.id}\n"  # an event without one keeps that of the one before it
            came, before = came + f"{own}event: {event.event}\ndata: {event.data}\n\n".encode(), event.id
            if over(came):
                break
    return came


def ids(body: bytes) -> list[str]:
    return [event.id for event in events_of(body) if event.id]


async def test_httpx_sse_is_cut_and_comes_back() -> None:
    """After every so many messages, until nothing is left: the Facts without gap or repeat, the text whole."""
    model = Held(ordinary(), "synthesis")
    async with running(model) as (client, path):
        came = await followed(client, path, lambda body: len(ids(body)) >= 3)
        came += await followed(client, path, lambda body: len(ids(body)) >= 4, ids(came)[-1])
        model.open.set()
        while "done" != events_of(came)[-1].channel:
            came += await followed(client, path, lambda body: len(events_of(body)) >= 3 and bool(ids(body)), ids(came)[-1])
        whole = await followed(client, path, lambda _: False)
        nothing = await client.get(path, headers={"last-event-id": ids(came)[-1]})

    assert ids(whole) == ids(came)
    assert ANSWER == shown(came) == shown(whole)
    assert 204 == nothing.status_code


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
async def test_curl_is_cut_and_comes_back() -> None:
    """As somebody at a terminal would."""
    model = Held(ordinary(), "synthesis")
    async with running(model) as (client, path):
        said = [word for name, value in HEADERS.items() for word in ("-H", f"{name}: {value}")]
        command = ["curl", "-N", "-s", *said, f"{client.base_url}".rstrip("/") + path]
        first = b""
        async with await anyio.open_process(command, stderr=subprocess.DEVNULL) as curl:
            assert curl.stdout is not None
            while b"synthesis" not in first:
                first += await curl.stdout.receive()
            curl.kill()
        first = first[: first.rindex(b"\n\n") + 2]
        model.open.set()
        rest = (await anyio.run_process([*command, "-H", f"Last-Event-ID: {ids(first)[-1]}"])).stdout
        whole = (await anyio.run_process(command)).stdout

    assert ids(whole) == ids(first + rest)
    assert ANSWER == shown(rest) == shown(whole)


async def test_the_server_ends_with_its_streams_open() -> None:
    """A client is told that the run was interrupted, its stream ends as if it were over, and the server is gone soon after."""
    model = Held(ordinary(), "synthesis")
    came = b""
    async with serving(service_of(model)) as (live, client):
        run = (await client.post("/v1/runs", json={"goal": "g"})).json()["id"]
        await model.until_asked()
        async with client.stream("GET", f"/v1/runs/{run}/events") as response:
            pieces = response.aiter_bytes()
            while b"synthesis" not in came:
                came += await anext(pieces)
            began = anyio.current_time()
            live.stop.set()
            came += b"".join([piece async for piece in pieces])
        await live.ended.wait()
        took = anyio.current_time() - began

    assert "interrupted" == events_of(came)[-1].data["phase"]
    assert took < 5


async def test_the_client_of_an_attached_run_hangs_up() -> None:
    """The server notices though nothing is being sent, and the run is cancelled."""
    model = Held(ordinary())
    async with serving(service_of(model)) as (_, client):
        async with client.stream("POST", "/v1/runs", json={"goal": "g", "attached": True}) as response:
            run = response.headers["location"]
            await anext(response.aiter_bytes())
            await model.until_asked(2)
        with anyio.fail_after(1):  # a second watcher sees the end of it
            events = (await client.get(f"{run}/events")).content
        report = (await client.get(run)).json()

    assert ("done", "cancelled") == (events_of(events)[-1].channel, report["state"])
    assert 201 == response.status_code
    assert (2, 2, 1) == (model.asked, model.left, report["usage"]["requests"])
