"""Which event loop this is, and closing what belongs to it when it ends, for things that no block of the caller's surrounds."""

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable

from anyio.lowlevel import RunVar

_AT_THE_END: RunVar[dict[object, AsyncGenerator[None, None]]] = RunVar("what is closed when the event loop ends")


def on_trio() -> bool:
    """Whether the running event loop is trio's."""
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())


def on_asyncio() -> bool:
    """Whether the running event loop is asyncio's; there may be none."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and not on_trio() and asyncio._get_running_loop() is not None


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
