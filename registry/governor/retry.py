"""Asking again when an endpoint fails for a while."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import anyio

from registry.calls import Call
from registry.errors import ModelError, Overloaded, Refused, Truncated, Unauthorized, Unreachable, WindowExceeded
from registry.messages import Piece, Reply, Request, Reset
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.usage import UNMETERED, Usage

MOST_ATTEMPTS = 4
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
LONGEST_PATIENCE = 60.0
"""Seconds of Retry-After that are still waited for. Who asks for more is given up, so that a fallback may step in."""


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


@dataclass(slots=True)
class _Attempts:
    """The attempts at one reply: how many failed, and what they cost."""

    call: Call
    jitter: Callable[[], float]
    failed: int = 0
    usage: Usage = field(default_factory=Usage)

    async def wait_after(self, error: ModelError, *, streaming: bool = False) -> None:
        """Count the failure and wait until the next attempt is due. Raises the error when there is to be none."""
        self.failed += 1
        self.usage += cost_of(error)
        delay = None if streaming and isinstance(error, Truncated) else next_delay(error, self.failed, self.jitter())
        if delay is None or self._too_late(delay):
            error.usage = self.usage
            raise error
        await anyio.sleep(delay)

    def added_to(self, reply: Reply) -> Reply:
        return replace(reply, usage=self.usage + reply.usage) if self.failed else reply

    def _too_late(self, delay: float) -> bool:
        return self.call.deadline is not None and anyio.current_time() + delay >= self.call.deadline


def cost_of(error: ModelError) -> Usage:
    """What a failed attempt cost: as it says, or else one request; of unknown cost where the endpoint may have begun to answer.

    An endpoint that can't be reached was not asked, unless the error says so.
    """
    if error.usage != Usage():
        return error.usage
    match error:
        case Unreachable():
            return Usage()
        case Refused() | Unauthorized() | WindowExceeded():
            return Usage(requests=1)
        case _:
            return UNMETERED


class RetryingModel(ModelLayer):
    """A model that asks again, up to `MOST_ATTEMPTS` times in all and never past the call's deadline.

    `jitter` yields a number from 0 to 1 for each wait. The reply's usage covers the failed attempts too, and so does that of the
    error that is raised at last.
    """

    def __init__(self, inner: Model, *, jitter: Callable[[], float]) -> None:
        super().__init__(inner)
        self._jitter = jitter

    async def chat(self, request: Request, call: Call) -> Reply:
        attempts = _Attempts(call, self._jitter)
        while True:
            try:
                return attempts.added_to(await self._inner.chat(request, call))
            except ModelError as error:
                await attempts.wait_after(error)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """A second attempt after pieces were shown begins with a `Reset`. A stream that was cut off is not asked for again."""
        attempts = _Attempts(call, self._jitter)
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
