"""What the app sends, on its way out."""

from collections.abc import Awaitable, Callable

import anyio
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Send

from orchestrator.server.guard.refusals import Refusal

LINGER_SECONDS = 2.0
LINGER_BYTES = 8 * 1024 * 1024
"""How long, and how much, is still taken from a peer that was refused while it was sending."""


class Outgoing:
    """`send` for one request. `at_a_stream` is awaited before an event stream begins, and may end it before anything is sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.at_a_stream: Callable[[], Awaitable[None]] | None = None
        self.has_begun = False
        self.is_over = False

    async def __call__(self, message: Message) -> None:
        """Passes the message on. What has no say in caches is kept by none, and no browser guesses at types."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=[*message.get("headers", ())])
            headers.setdefault("cache-control", "no-store")
            headers["x-content-type-options"] = "nosniff"
            if self.at_a_stream and headers.get("content-type", "").startswith("text/event-stream"):
                await self.at_a_stream()
            self.has_begun = True
            message = {**message, "headers": headers.raw}
        elif message["type"] == "http.response.body":
            self.is_over = not message.get("more_body", False)
        await self._send(message)


async def lingering(refusal: Refusal, receive: Receive, send: Send) -> None:
    """Refuses while the peer may still be sending.

    A connection that is closed on unread data is reset, and the answer lost with it. So a little more is taken in after it.
    """
    response = refusal.response()
    response.headers["connection"] = "close"
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    taken = 0
    with anyio.move_on_after(LINGER_SECONDS):
        while taken < LINGER_BYTES:
            message = await receive()
            taken += len(message.get("body", b""))
            if not message.get("more_body", False):
                break
    await send({"type": "http.response.body", "body": b"", "more_body": False})
