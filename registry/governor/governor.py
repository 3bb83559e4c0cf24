"""The one gate that every request to an endpoint passes: so many at a time, the most urgent first."""

import heapq
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import count

import anyio

from registry.calls import Call
from registry.errors import ConfigurationError, Unreachable
from registry.messages import Piece, Reply, Request
from registry.models.layer import ModelLayer
from registry.models.model import Model


@dataclass(slots=True, order=True)
class _Waiting:
    """A request in the queue, ordered as it will be served. `granted` is set when it owns a slot."""

    rank: float
    arrival: int
    granted: anyio.Event = field(compare=False, default_factory=anyio.Event)


class Governor:
    """Admits `slots` requests at a time to one endpoint, which every model there shares.

    Who waits is served by rank, larger first, then by arrival. A slot covers one request and belongs to no task: whoever holds
    it may be cancelled, and whoever is granted one in the moment of its cancellation hands it on.
    """

    def __init__(self, endpoint: str, slots: int) -> None:
        if slots < 1:
            raise ConfigurationError(f"{endpoint} needs at least one slot, not {slots}")
        self.endpoint, self.slots = endpoint, slots
        self._free = slots
        self._queue: list[_Waiting] = []
        self._arrivals = count()

    @property
    def free(self) -> int:
        """Slots that nobody holds."""
        return self._free

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self._queue)

    async def admit(self, call: Call) -> float:
        """`take` a slot for a call, and let it hear of the wait."""
        if call.queued is None or self._free:
            return await self.take(call.rank, call.deadline)
        call.queued(None)
        waited = await self.take(call.rank, call.deadline)
        call.queued(waited)
        return waited

    async def take(self, rank: float, deadline: float | None = None) -> float:
        """Own a slot, after waiting for it if need be; the seconds that took. Give it back with `give_back`.

        Raises `Unreachable` when the deadline, a moment of `anyio.current_time()`, comes first.
        """
        if self._free:
            self._free -= 1
            return 0.0
        since = anyio.current_time()
        place = _Waiting(-rank, next(self._arrivals))
        heapq.heappush(self._queue, place)
        with anyio.CancelScope(deadline=math.inf if deadline is None else deadline) as patience:
            try:
                await place.granted.wait()
            except BaseException:
                self._leave(place)
                raise
        if patience.cancelled_caught:
            raise Unreachable(self.endpoint, f"no request slot came free in {anyio.current_time() - since:.1f} s")
        return anyio.current_time() - since

    def give_back(self) -> None:
        """Pass a slot on to the next in the queue, or keep it free."""
        if self._queue:
            heapq.heappop(self._queue).granted.set()
        else:
            self._free += 1

    def _leave(self, place: _Waiting) -> None:
        if place.granted.is_set():
            self.give_back()
        else:
            self._queue.remove(place)
            heapq.heapify(self._queue)


class GovernedModel(ModelLayer):
    """A model whose requests pass a governor. The time in its queue is added to `Reply.waited`."""

    def __init__(self, inner: Model, governor: Governor) -> None:
        super().__init__(inner)
        self._governor = governor

    async def chat(self, request: Request, call: Call) -> Reply:
        waited = await self._governor.admit(call)
        try:
            reply = await self._inner.chat(request, call)
        finally:
            self._governor.give_back()
        return _having_waited(reply, waited)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """The slot is held until the stream ends or is closed."""
        waited = await self._governor.admit(call)
        try:
            async with aclosing(self._inner.stream_chat(request, call)) as pieces:
                async for piece in pieces:
                    yield _having_waited(piece, waited) if isinstance(piece, Reply) else piece
        finally:
            self._governor.give_back()


def _having_waited(reply: Reply, seconds: float) -> Reply:
    return replace(reply, waited=reply.waited + seconds) if seconds else reply
