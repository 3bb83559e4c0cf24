"""The one HTTP door, over fake transports and over real sockets."""

import gzip
import ssl
from collections.abc import AsyncIterator, Generator

import anyio
import httpx
import pytest

from registry.errors import ConfigurationError, Unreachable
from registry.http import HttpDoor, Timeouts, address
from registry.usage import Usage
from tests.registry.servers import chunked, response, serving

pytestmark = pytest.mark.anyio

URL = "https://user:pass@host.example:8443/v1?key=sk-secret"
KEY = {"authorization": "Bearer sk-secret"}


class Slow(httpx.AsyncByteStream):
    """A body of which each piece takes `seconds`; an exception among the pieces is raised."""

    def __init__(self, *pieces: bytes | Exception, seconds: float) -> None:
        self.pieces, self.seconds, self.closed = pieces, seconds, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            await anyio.sleep(self.seconds)
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def aclose(self) -> None:
        self.closed = True


def answering(answer: httpx.Response | Exception, *, after: float = 0.0) -> HttpDoor:
    async def handle(request: httpx.Request) -> httpx.Response:
        await anyio.sleep(after)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return HttpDoor(httpx.MockTransport(handle))


@pytest.mark.parametrize("status", [200, 301, 404, 500])
async def test_answers_of_any_status(status: int) -> None:
    """Whatever the status, the answer comes back whole, and redirects are not followed."""
    door = answering(httpx.Response(status, headers={"X-A": "b", "location": "https://elsewhere"}, content=b"body"))

    answer = await door.post(URL, KEY, b"{}")

    assert (status, "b", b"body") == (answer.status, answer.headers["x-a"], answer.body)


async def test_what_is_sent() -> None:
    """Headers and body arrive as given, and a plain answer is asked for."""
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200)

    door = HttpDoor(httpx.MockTransport(handle))
    await door.post("https://x/v1", KEY, b'{"a":1}')
    await door.get("https://x/v1", {})

    post, get = seen
    assert ("POST", b'{"a":1}', "Bearer sk-secret") == (post.method, post.content, post.headers["authorization"])
    assert ("GET", b"", "identity") == (get.method, get.content, get.headers["accept-encoding"])


async def test_compressed_answers_are_read() -> None:
    """A server that compresses without being asked is understood."""
    door = answering(httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Slow(gzip.compress(b"plain"), seconds=0)))

    assert b"plain" == (await door.post(URL, {}, b"")).body


async def test_streams_arrive_in_pieces_and_are_closed() -> None:
    """A stream's pieces come as they arrive; leaving early closes it."""
    body = Slow(b"a", b"", b"b", b"c", seconds=1)

    async with answering(httpx.Response(200, stream=body)).stream(URL, {}, b"") as answer:
        pieces = [await anext(answer.chunks), await anext(answer.chunks)]

    assert [b"a", b"b"] == pieces
    assert body.closed


@pytest.mark.parametrize(
    ("error", "why"),
    [
        pytest.param(httpx.ConnectError("refused"), "refused", id="refused"),
        pytest.param(httpx.ConnectTimeout(""), "no connection within 10 s", id="connect clock"),
        pytest.param(httpx.RemoteProtocolError("hung up"), "hung up", id="hung up"),
        pytest.param(httpx.ReadError(""), "ReadError", id="no words"),
        pytest.param(ConnectionResetError("reset"), "reset", id="system error"),
    ],
)
async def test_transport_errors(error: Exception, why: str) -> None:
    """Every fault of the transport is Unreachable, which says why and shows no secret."""
    with pytest.raises(Unreachable, match=why) as caught:
        await answering(error).post(URL, KEY, b"")

    assert "https://host.example:8443/v1" == caught.value.endpoint
    assert not any(secret in str(caught.value) for secret in ("sk-secret", "user", "pass"))


async def test_broken_bodies() -> None:
    """A connection that breaks in the middle of a body is Unreachable too."""
    door = answering(httpx.Response(200, stream=Slow(b"a", httpx.ReadError("broke"), seconds=0)))

    with pytest.raises(Unreachable, match="broke"):
        await door.post(URL, {}, b"")


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
async def test_undecodable_bodies(coding: str) -> None:
    """So is a body that is not compressed as it claims, or in a way that only some installations can read."""
    door = answering(httpx.Response(200, headers={"content-encoding": coding}, stream=Slow(b"plain", seconds=0)))

    with pytest.raises(Unreachable):
        await door.post(URL, {}, b"")


@pytest.mark.parametrize(
    ("head", "piece", "deadline", "lasts", "why"),
    [
        pytest.param(301, 0, None, 300, "no answer for 300 s", id="first byte"),
        pytest.param(1, 121, None, 121, "silence in mid-answer for 120 s", id="idle"),
        pytest.param(50, 0, 20, 20, "no answer when its deadline came after 20 s", id="deadline before the head"),
        pytest.param(5, 50, 30, 30, "silence in mid-answer when its deadline came after 25 s", id="deadline in the body"),
        pytest.param(5, 0, -1, 0, "deadline came after 0 s", id="deadline gone by"),
    ],
)
async def test_clocks(head: float, piece: float, deadline: float | None, lasts: float, why: str) -> None:
    """Each wait ends with its own clock or with the deadline, and the error says which, and after how long."""
    began = anyio.current_time()
    door = answering(httpx.Response(200, stream=Slow(b"a", seconds=piece)), after=head)

    with pytest.raises(Unreachable, match=why):
        await door.post(URL, {}, b"", deadline=None if deadline is None else began + deadline)

    assert lasts == pytest.approx(anyio.current_time() - began, abs=0.5)


async def test_a_lively_stream_may_last() -> None:
    """The clocks are for silence: an answer that keeps coming takes as long as it takes."""
    door = answering(httpx.Response(200, stream=Slow(*[b"a"] * 10, seconds=0.1)))

    answer = await door.post(URL, {}, b"", timeouts=Timeouts(first_byte=0.2, idle=0.2))

    assert 10 == len(answer.body)


@pytest.mark.parametrize("value", ["Bearer sk-secret\n", "Bearer sk-sécret", "a\r\nb: c"])
async def test_illegal_header_values(value: str) -> None:
    """A header that can't be sent is a wrong setting; its value, which may be a key, is not shown."""
    with pytest.raises(ConfigurationError, match="'authorization'") as caught:
        await answering(httpx.Response(200)).post(URL, {"authorization": value}, b"")
    assert value.strip() not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param("HTTPS://x/v1", "https://x/v1", id="plain"),
        pytest.param(URL, "https://host.example:8443/v1", id="secrets left out"),
        pytest.param("http://[::1]:8080", "http://[::1]:8080", id="IPv6"),
    ],
)
def test_addresses(url: str, shown: str) -> None:
    """An address is shown without user, password and query."""
    assert shown == address(url)


@pytest.mark.parametrize("url", ["", "x.example/v1", "ftp://x", "http://", "https:///v1"])
async def test_wrong_addresses(url: str) -> None:
    """What is no web address is a wrong setting, found before anything is sent."""
    with pytest.raises(ConfigurationError, match="http://"):
        await answering(httpx.Response(200)).get(url, {})


@pytest.mark.parametrize(
    ("url", "why"),
    [
        pytest.param("http://host:99999/v1", "Port out of range", id="a port that is none"),
        pytest.param("http://host:0/v1", "no server has port 0", id="no port"),
        pytest.param("http://host:http/v1", "Port could not be cast", id="a port in letters"),
        pytest.param("http://[::1/v1", "Invalid IPv6", id="half an address"),
        pytest.param("http://host/a b", "no address has", id="a blank"),
        pytest.param("http://host/v1\n", "no address has", id="a line break"),
    ],
)
async def test_addresses_that_lead_nowhere(url: str, why: str) -> None:
    """They are found out before anything is sent, and the sentence says what is wrong."""
    with pytest.raises(ConfigurationError, match=why):
        await answering(httpx.Response(200)).get(url, {})


async def test_a_client_of_the_caller() -> None:
    """A caller's client is used with its own headers, on our clocks, and stays open."""
    seen: list[httpx.Request] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        await anyio.sleep(60)
        return httpx.Response(302, headers={"location": "https://elsewhere"})

    async with httpx.AsyncClient(transport=httpx.MockTransport(handle), headers={"x-own": "1"}, follow_redirects=True) as client:
        async with HttpDoor(client) as door:
            answer = await door.post("https://x", {}, b"")
        assert not client.is_closed

    assert (302, "1") == (answer.status, seen[0].headers["x-own"])


@pytest.mark.real_clock
async def test_a_client_with_a_proxy() -> None:
    """A caller's proxy gets every request, whole or streamed, with the caller's headers and certificates and our own headers."""
    trusting = ssl.create_default_context()

    def script(request: bytes) -> list[bytes]:
        return chunked(b"a", b"b") if request.endswith(b"stream") else [response(b"ok")]

    async with (
        serving(script) as server,
        httpx.AsyncClient(proxy=server.url, verify=trusting, headers={"x-team": "a"}) as client,
    ):
        door = HttpDoor(client)
        assert b"ok" == (await door.post("http://far.example/v1", KEY, b"{}")).body
        async with door.stream("http://far.example/v1", KEY, b"stream") as answer:
            assert b"ab" == b"".join([piece async for piece in answer.chunks])

    assert 2 == len(server.requests)
    for request in server.requests:
        assert request.startswith(b"POST http://far.example/v1 HTTP/1.1\r\n")
        assert {b"x-team: a", b"authorization: bearer sk-secret", b"accept-encoding: identity"} <= set(
            request.lower().split(b"\r\n")
        )


@pytest.mark.real_clock
async def test_connections_are_kept() -> None:
    """Requests one after another share a connection; side by side, each has its own, without limit."""
    async with serving(lambda _: [response(b"ok")]) as server, HttpDoor() as door:
        for _ in range(3):
            assert b"ok" == (await door.post(server.url, KEY, b"{}")).body
        assert 1 == server.connections

        async with anyio.create_task_group() as group:
            for _ in range(120):
                group.start_soon(door.post, server.url, KEY, b"{}")
        assert 123 == len(server.requests)


@pytest.mark.real_clock
async def test_streams_over_a_socket() -> None:
    """A stream arrives over a real socket, and may be left unread."""
    async with serving(lambda _: chunked(b"a", b"b")) as server, HttpDoor() as door:
        async with door.stream(server.url, {}, b"") as answer:
            assert b"ab" == b"".join([piece async for piece in answer.chunks])
        async with door.stream(server.url, {}, b"") as answer:
            assert 200 == answer.status


@pytest.mark.real_clock
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([b""], id="no answer"),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", b""], id="half a body"),
        pytest.param([b"what?\r\n\r\n", b""], id="no HTTP"),
    ],
)
async def test_faults_over_a_socket(pieces: list[bytes]) -> None:
    """A server that hangs up or talks nonsense is Unreachable."""
    async with serving(lambda _: pieces) as server, HttpDoor() as door:
        with pytest.raises(Unreachable):
            await door.post(server.url, KEY, b"{}")


@pytest.mark.real_clock
@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        pytest.param({}, b"authorization: basic dxnlcjpwqdpz", id="alone"),
        pytest.param(KEY, b"authorization: bearer sk-secret", id="beside a key"),
    ],
)
@pytest.mark.parametrize("own", [True, False])
async def test_credentials_in_an_address(headers: dict[str, str], sent: bytes, own: bool) -> None:
    """User and password of an address are sent as a header, if no key is, whatever carries the request."""
    async with (
        serving(lambda _: [response(b"ok")]) as server,
        httpx.AsyncClient() as client,
        HttpDoor(None if own else client) as door,
    ):
        await door.post(server.url.replace("//", "//user:p%40:s@") + "/v1", headers, b"{}")

    (request,) = server.requests
    assert request.startswith(b"POST /v1 HTTP/1.1")
    assert [sent] == [line for line in request.lower().split(b"\r\n") if line.startswith(b"authorization")]


@pytest.mark.real_clock
async def test_nobody_listens() -> None:
    """A refused connection is Unreachable, and the error names the address."""
    async with serving(lambda _: []) as server:
        url = server.url
    async with HttpDoor() as door:
        with pytest.raises(Unreachable, match=url):
            await door.post(url, KEY, b"{}")


@pytest.mark.real_clock
async def test_clocks_over_a_socket() -> None:
    """The clocks hold on real sockets too."""
    async with serving(lambda _: []) as server, HttpDoor() as door:
        with pytest.raises(Unreachable, match=r"no answer for 0\.05 s"):
            await door.post(server.url, KEY, b"{}", timeouts=Timeouts(first_byte=0.05))


@pytest.mark.real_clock
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_what_has_come_does_not_outlast_the_deadline() -> None:
    """A stream that never lets its reader wait ends at the deadline all the same."""
    async with serving(lambda _: chunked(*[b"-" * 60_000] * 50)) as server, HttpDoor() as door:
        deadline = anyio.current_time() + 0.2
        async with door.stream(server.url, {}, b"", deadline=deadline) as answer:
            assert await anext(answer.chunks)
            await anyio.sleep_until(deadline)
            with pytest.raises(Unreachable, match="when its deadline came"):
                await anext(answer.chunks)


@pytest.mark.real_clock
async def test_a_pool_without_a_free_place() -> None:
    """The wait for a place in the caller's pool ends when there would be too little time left for an answer; nothing was sent."""
    client = httpx.AsyncClient(limits=httpx.Limits(max_connections=1))
    async with serving(lambda _: chunked(b"a", b"b")) as server, client, HttpDoor(client).stream(server.url, {}, b""):
        with pytest.raises(Unreachable, match="no connection of the client's pool came free") as caught:
            await HttpDoor(client).post(server.url, {}, b"", timeouts=Timeouts(first_byte=0.1))

    assert Usage() == caught.value.usage
    assert 1 == len(server.requests)


class Twice(httpx.Auth):
    """Says who it is by sending every request again."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        yield request
        yield request


@pytest.mark.real_clock
async def test_a_client_may_send_a_body_again() -> None:
    """A client of the caller's that has to answer a challenge sends the whole request each time."""
    async with serving(lambda _: [response(b"ok")]) as server, httpx.AsyncClient(auth=Twice()) as client:
        await HttpDoor(client).post(server.url, {}, b'{"a": 1}')

    assert [b'{"a": 1}'] * 2 == [request.partition(b"\r\n\r\n")[2] for request in server.requests]


class Hasty(httpx.AsyncHTTPTransport):
    """A transport with one place. Its first request is cancelled in the moment of an event."""

    def __init__(self, moment: str, scope: anyio.CancelScope) -> None:
        super().__init__(limits=httpx.Limits(max_connections=1))
        self.moment, self.scope = moment, scope

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        told = request.extensions["trace"]

        async def tell(event: str, about: object) -> None:
            if event == self.moment:
                self.scope.cancel()
            await told(event, about)

        request.extensions["trace"] = tell
        return await super().handle_async_request(request)


@pytest.mark.real_clock
@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("connection.connect_tcp.started", id="connecting"),
        pytest.param("connection.connect_tcp.complete", id="just connected"),
        pytest.param("http11.send_request_headers.started", id="sending the head"),
        pytest.param("http11.send_request_body.started", id="sending the body"),
        pytest.param("http11.receive_response_headers.started", id="sent"),
    ],
)
async def test_a_cancelled_request_leaves_its_place(moment: str) -> None:
    """In whatever moment a request is cancelled, the next one finds a place in the pool."""
    scope = anyio.CancelScope()
    async with serving(lambda _: [response(b"ok")]) as server, Hasty(moment, scope) as transport:
        with scope:
            await HttpDoor(transport).post(server.url, {}, b"{}")
        answer = await HttpDoor(transport).post(server.url, {}, b"{}", timeouts=Timeouts(first_byte=1))

    assert scope.cancelled_caught
    assert b"ok" == answer.body


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_one_door_in_two_loops(backend: str) -> None:
    """A door that served one event loop serves the next one, with connections of its own."""
    door = HttpDoor()

    async def once() -> bytes:
        async with serving(lambda _: [response(b"ok")]) as server, door:
            await door.post(server.url, {}, b"")
            return (await door.post(server.url, {}, b"")).body

    assert [b"ok", b"ok"] == [anyio.run(once, backend=backend) for _ in range(2)]
