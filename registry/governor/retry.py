"""Asking again when an endpoint fails for a while."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import anyio
from msgspec import Struct
from msgspec.structs import replace

from registry.calls import Call
from registry.errors import (
    CircuitOpen,
    ModelError,
    OverBudget,
    Overloaded,
    Refused,
    Truncated,
    Unauthorized,
    Unpriced,
    Unreachable,
    WindowExceeded,
)
from registry.messages import Piece, Reply, Request, Reset
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.usage import UNMETERED, Usage

MOST_ATTEMPTS = 4
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
LONGEST_PATIENCE = 60.0
"""Seconds of Retry-After that are still waited for. Who asks for more is given up, so that a fallback may step in."""

LONGEST_OUTAGE = 30.0
"""Seconds that an endpoint which is known to be down is waited for in all, where nobody else can answer."""


def next_delay(error: ModelError, attempt: int, jitter: float) -> float | None:
    """Seconds to wait after `attempt` failed (counted from 1), or None when another would be no use.

    `jitter`, from 0 to 1, spreads those who failed together: it takes away up to half of our own delay, and adds up to a tenth
    to one that the endpoint asked for, which is never cut short.
    """
    if attempt >= MOST_ATTEMPTS or not isinstance(error, Overloaded | Unreachable | Truncated):
        return None
    if isinstance(error, Overloaded) and error.retry_after is not None:
        return error.retry_after * (1 + 0.1 * jitter) if error.retry_after <= LONGEST_PATIENCE else None
    return min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** (attempt - 1)) * (1 - 0.5 * jitter)


class _Attempts(Struct):
    """The attempts at one reply: how many failed, and what they cost.

    Finding out that the endpoint is known to be down is no attempt: it is waited for with `patience`, in seconds.
    """

    call: Call
    jitter: Callable[[], float]
    patience: float
    failed: int = 0
    usage: Usage = Usage()

    async def wait_after(self, error: ModelError, *, streaming: bool = False) -> None:
        """Count the failure and wait until the next attempt is due. Raises the error when there is to be none."""
        self.usage += cost_of(error)
        delay = self._outlasting(error) if isinstance(error, CircuitOpen) else self._next_delay(error, streaming)
        if delay is None or self._too_late(delay):
            error.usage = self.usage
            raise error
        await anyio.sleep(delay)

    def added_to(self, reply: Reply) -> Reply:
        return replace(reply, usage=self.usage + reply.usage) if self.usage.requests else reply

    def _next_delay(self, error: ModelError, streaming: bool) -> float | None:
        self.failed += 1
        return None if streaming and isinstance(error, Truncated) else next_delay(error, self.failed, self.jitter())

    def _outlasting(self, outage: CircuitOpen) -> float | None:
        delay = outage.retry_after * (1 + 0.1 * self.jitter())
        self.patience -= delay
        return delay if self.patience >= 0 else None

    def _too_late(self, delay: float) -> bool:
        return anyio.current_time() + delay >= self.call.ends


def cost_of(error: ModelError) -> Usage:
    """What a failed attempt cost: as it says, or else one request; of unknown cost where the endpoint may have begun to answer.

    An endpoint that can't be reached was not asked, unless the error says so; nor was one for which the money was lacking. One
    that has too many requests turns them away unread.
    """
    if error.usage != Usage():
        return error.usage
    match error:
        case Unreachable() | OverBudget() | Unpriced():
            return Usage()
        case Refused() | Unauthorized() | WindowExceeded() | Overloaded(status=429):
            return Usage(requests=1)
        case _:
            return UNMETERED


class RetryingModel(ModelLayer):
    """A model that asks again, up to `MOST_ATTEMPTS` times in all and never past the end of the call's time.

    One that is known to be down is waited for with `patience`, in seconds: none where another model stands behind it.
    `jitter` yields a number from 0 to 1 for each wait. The reply's usage covers the failed attempts too, and so does that of
    the error that is raised at last.
    """

    def __init__(self, inner: Model, *, jitter: Callable[[], float], patience: float = LONGEST_OUTAGE) -> None:
        super().__init__(inner)
        self._jitter, self._patience = jitter, patience

    async def chat(self, request: Request, call: Call) -> Reply:
        attempts = _Attempts(call, self._jitter, self._patience)
        while True:
            try:
                return attempts.added_to(await self._inner.chat(request, call))
            except ModelError as error:
                await attempts.wait_after(error)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """A second attempt after pieces were shown begins with a `Reset`. A stream that was cut off is not asked for again."""
        attempts = _Attempts(call, self._jitter, self._patience)
        while True:
            shown = False
            try:
                async with aclosing(self._inner.stream_chat(request, call)) as pieces:
                    async for piece in pieces:
                        yield attempts.added_to(piece) if isinstance(piece, Reply) else piece
                        shown = True
                return
            except ModelError as error:
                await attempts.wait_after(error, streaming=True)
                if shown:
                    yield Reset(str(error))
