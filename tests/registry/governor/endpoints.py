"""A stand-in for an endpoint with limits, on whatever clock the test has: it counts what comes, and refuses what is too much."""

from collections import deque
from collections.abc import AsyncGenerator

import anyio

from registry.allowances import Allowance, Allowances
from registry.calls import Call
from registry.errors import Overloaded, Unreachable
from registry.messages import Piece, Reply, Request
from registry.usage import Usage

USAGE = Usage(requests=1, input_tokens=10, output_tokens=5)


class LimitedEndpoint:
    """Takes `limit` requests in any `window` seconds, answers after `latency`, and is gone `down` from one moment to another.

    It `tells` how much is left, as endpoints do whose buckets fill evenly. Who comes too much hears `retry_after`. All moments
    are seconds since it was made.
    """

    name, endpoint = "limited", "here"
    abilities = {"tool_call": True}
    context_window = None

    def __init__(
        self,
        limit: int,
        *,
        window: float = 1.0,
        latency: float = 0.05,
        tells: bool = False,
        retry_after: float | None = 1.0,
        down: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._limit, self._window, self._latency, self._down = limit, window, latency, down
        self._tells, self._retry_after = tells, retry_after
        self._began = anyio.current_time()
        self._recent: deque[float] = deque()
        self.taken: list[tuple[float, float]] = []
        """When each request came that was taken, and the rank of its call."""
        self.refused: list[float] = []
        self.lost: list[float] = []

    async def chat(self, request: Request, call: Call) -> Reply:
        now = anyio.current_time() - self._began
        if self._down[0] <= now < self._down[1]:
            self.lost.append(now)
            raise Unreachable("here", "no route")
        while self._recent and self._recent[0] <= now - self._window:
            self._recent.popleft()
        full = len(self._recent) >= self._limit
        if not full:
            self._recent.append(now)
            self.taken.append((now, call.rank))
        said = self._said(now)
        if full:
            self.refused.append(now)
            self._tell(call, said)
            raise Overloaded("here", "too many", status=429, retry_after=self._retry_after)
        await anyio.sleep(self._latency)
        self._tell(call, said)
        return Reply(text="fine", usage=USAGE)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        yield await self.chat(request, call)

    def _said(self, now: float) -> Allowances:
        taken = len(self._recent)
        reset = taken * self._window / self._limit
        return Allowances(requests=Allowance(limit=self._limit, remaining=self._limit - taken, reset=reset))

    def _tell(self, call: Call, said: Allowances) -> None:
        if self._tells and call.heard is not None:
            call.heard(said)


def busiest(moments: list[float], *, window: float = 1.0) -> int:
    """The most of them that lie within so many seconds."""
    return max((sum(start <= moment < start + window for moment in moments) for start in moments), default=0)
