"""Serving until told to stop, on real sockets: uvicorn is bound to asyncio."""

import ssl
from collections.abc import Sequence
from pathlib import Path

import anyio
import httpx
import pytest
from fastapi import FastAPI, Request

from orchestrator.server.binding import tls_of
from orchestrator.server.guard import declares
from orchestrator.server.serving import PARTING, Serving
from tests.backends import Backend, backend
from tests.orchestrator.server.guard.house import HARBOUR, HOST, app, guard
from tests.orchestrator.server.live import certificate, connected, is_cut, narrow, request, served, until

pytestmark = [pytest.mark.anyio, pytest.mark.real_clock]

HEADERS = {"host": HOST, "authorization": f"Bearer {HARBOUR}"}


@pytest.fixture
def anyio_backend() -> Backend:
    """What uvicorn needs."""
    return backend("asyncio", virtual=False)


async def test_streams_end_with_the_server() -> None:
    """They end as if they were over, at once, and so does the server."""
    async with served(guard()) as live, await connected(live) as stream:
        await stream.send(request("/v1/events"))
        await until(stream, b": open\n\n")
        began = anyio.current_time()
        live.stop.set()
        await until(stream, b"0\r\n\r\n")
        await live.ended.wait()

    assert anyio.current_time() - began < PARTING


async def test_the_app_comes_to_rest_first() -> None:
    """While it does, who asks is answered; it is told how long it has."""
    told, asked_meanwhile = [], []

    async def drain(grace: float) -> None:
        told.append(grace)
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"http://127.0.0.1:{live.port}/v1/runs/r1", headers=HEADERS)
        asked_meanwhile.append(answer.status_code)

    async with served(guard(), Serving(grace=7), drain=drain) as live:
        await live.end()

    assert ([7], [200]) == (told, asked_meanwhile)


async def test_there_is_an_end_to_coming_to_rest() -> None:
    """An app that does not is left after the time it was given."""

    async def drain(grace: float) -> None:
        await anyio.sleep_forever()

    async with served(guard(), Serving(grace=0.1), drain=drain) as live:
        with anyio.fail_after(5):
            await live.end()


async def test_a_request_under_way_is_answered() -> None:
    """It has a moment when the app is at rest."""
    begun, go_on = anyio.Event(), anyio.Event()
    inside = app()

    @inside.get("/v1/slow")
    @declares("read")
    async def slow() -> str:
        begun.set()
        await go_on.wait()
        return "done"

    async def drain(grace: float) -> None:
        go_on.set()

    async with served(guard(inside=inside), drain=drain) as live, await connected(live) as stream:
        await stream.send(request("/v1/slow"))
        await begun.wait()
        live.stop.set()
        assert b"HTTP/1.1 200 " in await until(stream, b'"done"')


async def test_nobody_who_stands_still_holds_the_end_up() -> None:
    """A stream that is not read is cut off when the server ends."""
    inside = app()

    @inside.get("/v1/flood")
    @declares("read")
    async def flood() -> object:
        from starlette.responses import StreamingResponse

        async def pieces():  # type: ignore[no-untyped-def]
            while True:
                yield b"x" * 65536

        return StreamingResponse(pieces(), media_type="text/event-stream")

    async with served(guard(inside=inside)) as live:
        with narrow(live) as peer:
            peer.sendall(request("/v1/flood"))
            await anyio.wait_readable(peer)
            with anyio.fail_after(PARTING + 1.5):
                await live.end()


async def test_afterwards_nobody_is_let_in() -> None:
    """The sockets are closed."""
    async with served(guard()) as live:
        await live.end()
        with pytest.raises(OSError, match="onnect"):
            await connected(live)


async def test_no_websocket_and_no_other_protocol() -> None:
    """What asks for an upgrade gets an answer in HTTP."""
    async with served(guard()) as live, await connected(live) as stream:
        await stream.send(request("/v1/nothing", "Connection: Upgrade", "Upgrade: websocket"))
        assert b"HTTP/1.1 404 " in await until(stream, b"\r\n")


async def test_what_is_no_http_is_refused() -> None:
    """And the connection is closed."""
    async with served(guard()) as live, await connected(live) as stream:
        await stream.send(b"\x16\x03\x01 hello\r\n\r\n")
        assert b"HTTP/1.1 400 " in await until(stream, b"\r\n")
        assert await is_cut(stream)


def peering() -> FastAPI:
    inside = app()

    @inside.get("/v1/peer")
    @declares("read")
    async def peer(request: Request) -> list[str]:
        assert request.client is not None
        return [request.client.host, request.url.scheme]

    return inside


@pytest.mark.parametrize(
    ("proxies", "seen"),
    [
        pytest.param((), ["127.0.0.1", "http"], id="nobody"),
        pytest.param(("127.0.0.1",), ["198.51.100.7", "https"], id="this one"),
        pytest.param(("192.0.2.1",), ["127.0.0.1", "http"], id="another one"),
    ],
)
async def test_whose_word_is_taken(proxies: Sequence[str], seen: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only that of the proxies that were named, whatever the environment says."""
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    headers = {**HEADERS, "x-forwarded-for": "198.51.100.7", "x-forwarded-proto": "https"}
    async with served(guard(inside=peering()), Serving(proxies=tuple(proxies))) as live, httpx.AsyncClient() as client:
        assert seen == (await client.get(f"http://127.0.0.1:{live.port}/v1/peer", headers=headers)).json()


async def test_over_tls(tmp_path: Path) -> None:
    """The app knows that it is reached that way, and the cookie is for that alone."""
    made, key = certificate(tmp_path)
    trust = ssl.create_default_context(cafile=str(made))
    async with served(guard(), Serving(tls=tls_of(made, key))) as live, httpx.AsyncClient(verify=trust) as client:
        url, names = f"https://127.0.0.1:{live.port}/v1/login", {"sni_hostname": HOST}
        answer = await client.post(url, json={"token": HARBOUR}, headers={"host": HOST}, extensions=names)

    assert 204 == answer.status_code
    assert all(word in answer.headers["set-cookie"] for word in ("__Host-dagwright=", "Secure", "HttpOnly", "SameSite=strict"))
