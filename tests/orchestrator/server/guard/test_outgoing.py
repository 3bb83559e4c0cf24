"""What the app sends, on its way out."""

import anyio
import pytest
from starlette.types import Message

from orchestrator.server.guard import refusals
from orchestrator.server.guard.outgoing import LINGER_BYTES, LINGER_SECONDS, Outgoing, lingering

pytestmark = pytest.mark.anyio


class Sent(list[Message]):
    """All messages that were sent."""

    async def __call__(self, message: Message) -> None:
        self.append(message)


async def test_how_far_a_response_is() -> None:
    """Whether it has begun and whether it is over."""
    sent = Sent()
    outgoing, seen = Outgoing(sent), []
    for message in (
        {"type": "http.response.start", "status": 200},
        {"type": "http.response.body", "body": b"a", "more_body": True},
        {"type": "http.response.body", "body": b"b"},
    ):
        seen.append((outgoing.has_begun, outgoing.is_over))
        await outgoing(message)

    assert [(False, False), (True, False), (True, False)] == seen
    assert (True, True) == (outgoing.has_begun, outgoing.is_over)


async def test_the_app_has_its_say_in_caches() -> None:
    """What it says stays."""
    sent = Sent()
    await Outgoing(sent)({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"max-age=60")]})

    assert [(b"cache-control", b"max-age=60"), (b"x-content-type-options", b"nosniff")] == sent[0]["headers"]


@pytest.mark.parametrize(
    ("kind", "asked"), [(b"text/event-stream", True), (b"text/event-stream; charset=utf-8", True), (b"application/json", False)]
)
async def test_a_stream_is_known_before_it_begins(kind: bytes, asked: bool) -> None:
    """Whoever gives out places is asked first."""
    sent, seen = Sent(), list[int]()
    outgoing = Outgoing(sent)

    async def place() -> None:
        seen.append(len(sent))

    outgoing.at_a_stream = place
    await outgoing({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})

    assert ([0] if asked else []) == seen


@pytest.mark.parametrize(
    ("piece", "pause", "most"),
    [
        pytest.param(b" " * 1024 * 1024, 0.0, LINGER_BYTES, id="so much"),
        pytest.param(b" ", 0.3, LINGER_SECONDS / 0.3, id="so long"),
    ],
)
async def test_the_answer_comes_first_and_a_little_is_taken_in(piece: bytes, pause: float, most: float) -> None:
    """A peer that goes on sending reads why it should not have."""
    sent, taken = Sent(), list[int]()

    async def receive() -> Message:
        assert (413, True) == (sent[0]["status"], sent[1]["more_body"])
        await anyio.sleep(pause)
        taken.append(len(piece))
        return {"type": "http.request", "body": piece, "more_body": True}

    await lingering(refusals.Refusal(status=413, slug="too-large", detail="too large"), receive, sent)

    assert (b"connection", b"close") in sent[0]["headers"]
    assert {"type": "http.response.body", "body": b"", "more_body": False} == sent[-1]
    assert 0 < sum(taken) <= most


async def test_a_peer_that_is_through_is_not_waited_for() -> None:
    """Whether it has sent all or has left."""
    for last in ({"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}):
        left = [last]

        async def receive(left: list[Message] = left) -> Message:
            return left.pop()

        await lingering(refusals.NOTHING_HERE, receive, Sent())
        assert [] == left
