"""An event stream as an HTTP response.

sse-starlette would do too. It has four tasks for a client and encodes for each, where this has one beside the request's own and
sends bytes that all clients share; and this knows who has fallen behind, and whose leaving ends a run.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

import anyio
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from orchestrator.server.feeds import Feed, Watch
from orchestrator.server.frames import KEEP_ALIVE, OPENING, EventId
from orchestrator.unwrapping import sole_error

_HEADERS = {"cache-control": "no-store, no-transform", "x-accel-buffering": "no"}


class EventStream(Response):
    """What happens in a run from behind the message `after` on. `left` is called when the client goes before the end."""

    media_type = "text/event-stream"

    def __init__(
        self,
        feed: AbstractAsyncContextManager[Feed],
        after: EventId | None = None,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        left: Callable[[], None] = lambda: None,
    ) -> None:
        self._feed, self._after, self._left = feed, after, left
        self.status_code, self.background = status, None
        self.init_headers({**_HEADERS, **(headers or {})})  # without a body, so without its length

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 (so ASGI calls it)
        told = False
        try:
            with sole_error():
                async with anyio.create_task_group() as group:
                    group.start_soon(_until_gone, receive, group.cancel_scope)
                    await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                    await send(_body(OPENING))
                    async with self._feed as feed:
                        with feed.watched(self._after, group.cancel_scope.cancel) as watch:
                            await _tell(send, watch)
                    told = True
                    group.cancel_scope.cancel()
        finally:
            if not told:
                self._left()
        if told:
            await send(_body(b"", more=False))


async def _tell(send: Send, watch: Watch) -> None:
    """All there is, and what comes, to the end."""
    while not watch.at_the_end:
        if fresh := watch.next() or (KEEP_ALIVE if watch.is_silent else b""):
            await watch.hand(send(_body(fresh)))
        else:
            await watch.more()


def _body(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
