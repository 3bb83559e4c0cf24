"""Closing what belongs to an event loop when the loop ends, for things that no block of the caller's surrounds."""

from collections.abc import AsyncGenerator, Awaitable, Callable

from anyio.lowlevel import RunVar

_AT_THE_END: RunVar[dict[object, AsyncGenerator[None, None]]] = RunVar("what is closed when the event loop ends")


async def at_loop_end(owner: object, close: Callable[[], Awaitable[None]]) -> None:
    """Have `close` awaited when the running event loop ends; once for each owner, however often it is asked."""
    waiting = _AT_THE_END.get({})
    if owner not in waiting:
        # Every loop finalises the asynchronous generators that are left when it ends: so one waits there for each owner.
        waiting[owner] = _closing(close)
        _AT_THE_END.set(waiting)
        await anext(waiting[owner])


async def _closing(close: Callable[[], Awaitable[None]]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await close()
