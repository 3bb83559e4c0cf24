"""The one gate that every request to a model passes: so many at a time and so fast, the most urgent first."""

import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

import anyio
from msgspec.structs import replace

from registry.allowances import Allowances
from registry.calls import Call
from registry.context.estimating import request_tokens
from registry.errors import ConfigurationError, ModelError, Unreachable
from registry.governor.bucket import IN_LUMPS, Bucket
from registry.governor.gate import Admission, Gate, Place
from registry.governor.retry import cost_of
from registry.loops import PerLoop
from registry.messages import Piece, Reply, Request
from registry.models.layer import ModelLayer
from registry.models.model import Model

_MINUTE = 60


class Governor:
    """Admits `slots` requests at a time to one model of an endpoint, whoever asks it in this event loop.

    Rates are learnt from what the endpoint says in its answers and from its refusals. `requests_per_minute` and
    `tokens_per_minute` are bounds of one's own: such requests leave evenly, tokens in lumps of ten seconds' worth. Who waits is
    served by rank, larger first, then by arrival. A slot covers one request and belongs to no task: whoever holds it may be
    cancelled, and whoever is granted one in the moment of its cancellation hands it on.
    """

    def __init__(
        self, endpoint: str, slots: int, *, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        if slots < 1:
            raise ConfigurationError(f"{endpoint} needs at least one slot, not {slots}")
        self.endpoint, self.slots = endpoint, slots
        self._rates = _a_second(requests_per_minute), _a_second(tokens_per_minute)
        # The moments on the clock of one event loop mean nothing in another one.
        self._gates = PerLoop(self._new_gate)

    @property
    def free(self) -> int:
        """Slots that nobody holds."""
        return self.gate.free

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return len(self.gate.queue)

    @property
    def gate(self) -> Gate:
        """The gate of the running event loop."""
        return self._gates.get()

    async def admit(self, request: Request, call: Call) -> tuple[Gate, Admission, float]:
        """Leave to send a request, after waiting for it if need be; and the seconds that took. To be settled at the gate.

        Raises `Unreachable` when the call's deadline comes first, and what the gate says when nobody may wait.
        """
        gate, now = self.gate, anyio.current_time()
        place = gate.enter(call.rank, _tokens(request) if gate.tokens.level != math.inf else 0.0, now)
        if place.admission is not None:
            return gate, place.admission, 0.0
        waited = await self._turn(gate, place, call)
        if place.refusal is not None:
            raise place.refusal
        assert place.admission is not None
        return gate, place.admission, waited

    async def _turn(self, gate: Gate, place: Place, call: Call) -> float:
        """Wait until the place waits no more, and let the call hear of it; the seconds that took."""
        since = now = anyio.current_time()
        tell = call.queued or _nobody
        try:
            tell(None)
            while place.waits:
                if now >= call.ends:
                    raise Unreachable(self.endpoint, f"no request slot came free in {now - since:.1f} s")
                place.stirred = anyio.Event()
                with anyio.CancelScope(deadline=min(call.ends, place.due)):
                    await place.stirred.wait()
                now, place.due = anyio.current_time(), math.inf
                gate.serve(now)
            if place.admission is not None:
                tell(now - since)
        except BaseException:
            gate.leave(place, anyio.current_time())
            raise
        return now - since

    def _new_gate(self) -> Gate:
        requests, tokens = self._rates
        return Gate(self.endpoint, self.slots, Bucket(most=requests), Bucket(most=tokens, spread=IN_LUMPS))


class GovernedModel(ModelLayer):
    """A model whose requests pass a governor. The time in its queue is added to `Reply.waited`."""

    def __init__(self, inner: Model, governor: Governor) -> None:
        super().__init__(inner)
        self._governor = governor

    async def chat(self, request: Request, call: Call) -> Reply:
        gate, admission, waited = await self._governor.admit(request, call)
        ended: Reply | ModelError | None = None
        try:
            ended = await self._inner.chat(request, _heard(call, gate, admission))
        except ModelError as error:
            ended = error
            raise
        finally:
            _settle(gate, admission, ended, call)
        return _having_waited(ended, waited)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """The slot is held until the stream ends or is closed."""
        gate, admission, waited = await self._governor.admit(request, call)
        ended: Reply | ModelError | None = None
        try:
            async with aclosing(self._inner.stream_chat(request, _heard(call, gate, admission))) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Reply):
                        ended = piece
                    yield _having_waited(piece, waited) if isinstance(piece, Reply) else piece
        except ModelError as error:
            ended = error
            raise
        finally:
            _settle(gate, admission, ended, call)


def _nobody(_: float | None) -> None:
    """Hears of a wait that nobody wants to hear of."""


def _a_second(limit: float | None) -> float:
    return math.inf if limit is None else limit / _MINUTE


def _settle(gate: Gate, admission: Admission, ended: Reply | ModelError | None, call: Call) -> None:
    """Tell the gate. Raises the error that everybody hears in place of that of the one request which tried for all."""
    now = anyio.current_time()
    still_down = gate.settle(admission, ended, now, late=isinstance(ended, Unreachable) and now >= call.ends)
    if still_down is not None and isinstance(ended, ModelError):
        still_down.usage = cost_of(ended)
        raise still_down from ended


def _heard(call: Call, gate: Gate, admission: Admission) -> Call:
    return replace(call, heard=partial(_hear, gate, admission)) if gate.listens(admission) else call


def _hear(gate: Gate, admission: Admission, said: Allowances | None) -> None:
    gate.hear(admission, said, anyio.current_time())


def _tokens(request: Request) -> float:
    """About what a request takes: its input, and its output as far as it is capped."""
    return request_tokens(request.messages, request.tools) + (request.max_tokens or 0)


def _having_waited(reply: Reply, seconds: float) -> Reply:
    return replace(reply, waited=reply.waited + seconds) if seconds else reply
