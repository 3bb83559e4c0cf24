"""Which event loop this is, and what belongs to it alone: closed when it ends, where no block of the caller's surrounds it."""

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary, ref

T = TypeVar("T")


def on_trio() -> bool:
    """Whether the running event loop is trio's."""
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())


def on_asyncio() -> bool:
    """Whether the running event loop is asyncio's; there may be none."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and not on_trio() and asyncio._get_running_loop() is not None


class PerLoop(Generic[T]):
    """One value for each event loop, made when it is first asked for there and forgotten with the loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[object, T] = WeakKeyDictionary()
        self._latest: tuple[Callable[[], object], T] | None = None

    def get(self) -> T:
        """That of the running event loop, of which there must be one."""
        loop = sys.modules["trio"].lowlevel.current_trio_token() if on_trio() else sys.modules["asyncio"].get_running_loop()
        if (latest := self._latest) is not None and latest[0]() is loop:
            return latest[1]
        value = self._made.get(loop)
        if value is None:
            value = self._made[loop] = self._make()
        self._latest = ref(loop), value
        return value


_AT_THE_END: PerLoop[dict[object, AsyncGenerator[None, None]]] = PerLoop(dict)


async def at_loop_end(owner: object, close: Callable[[], Awaitable[None]]) -> None:
    """Have `close` awaited when the running event loop ends; once for each owner, however often it is asked."""
    waiting = _AT_THE_END.get()
    if owner not in waiting:
        # Every loop finalises the asynchronous generators that are left when it ends: so one waits there for each owner.
        waiting[owner] = _closing(close)
        await anext(waiting[owner])


async def _closing(close: Callable[[], Awaitable[None]]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await close()
