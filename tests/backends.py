"""The event loops that tests run on: asyncio and trio, with a virtual clock or a real one."""

import asyncio
import heapq
from typing import Any

from trio.testing import MockClock

Backend = tuple[str, dict[str, Any]]


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose clock jumps to the next timer whenever nothing else can happen: an hour passes in no time."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = 0.0

    def time(self) -> float:
        return super().time() + self._ahead

    def _run_once(self) -> None:
        while self._scheduled and self._scheduled[0].cancelled():
            self._timer_cancelled_count -= 1
            heapq.heappop(self._scheduled)._scheduled = False
        if not self._ready and self._scheduled:
            self._ahead += max(0.0, self._scheduled[0].when() - self.time())
        super()._run_once()


def backend(name: str, *, virtual: bool) -> Backend:
    """The `anyio_backend` value for one test. Tests that use sockets, threads or processes take a real clock."""
    if name == "asyncio":
        return "asyncio", {"loop_factory": VirtualClockLoop} if virtual else {}
    return "trio", {"clock": MockClock(autojump_threshold=0.0)} if virtual else {}
