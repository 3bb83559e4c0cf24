"""Where blocking tools run, so that they never block the loop."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
from anyio.lowlevel import RunVar

Threads = Callable[[Callable[[], Any]], Awaitable[Any]]
"""The port: runs a blocking function somewhere that it doesn't block the loop."""

MOST_THREADS = 128
"""How many blocking calls are waited for at a time, in one event loop. Further ones wait for their turn."""

_PLACES: RunVar[anyio.CapacityLimiter] = RunVar("places for blocking tools")


async def in_worker_thread(work: Callable[[], Any]) -> Any:
    """Run it in a thread, which sees the context variables of the caller.

    Nothing can stop a thread. A cancelled wait for one ends at once: the thread goes on by itself, what it comes to is dropped,
    and its place is free, so that tools that hang can't keep others from running. They may keep the program from ending, though.
    """
    places = _PLACES.get(None)
    if places is None:
        places = anyio.CapacityLimiter(MOST_THREADS)
        _PLACES.set(places)
    async with places:
        # With a limiter of its own, for on trio one that is shared counts a thread until it ends.
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
