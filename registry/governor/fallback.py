"""Another model when the first can't be had."""

from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from registry.calls import Call
from registry.errors import ConfigurationError, ModelError, Overloaded, Unauthorized, Unreachable
from registry.governor.retry import cost_of
from registry.messages import Piece, Reply, Request, Reset
from registry.models.layer import ModelLayer
from registry.models.model import Abilities, Model
from registry.usage import Usage

MOST_BINDINGS = 4096
"""Attempts whose model is remembered; the oldest are forgotten first, long after their end."""

_ELSEWHERE = (Unreachable, Overloaded, Unauthorized)


class FallbackModel(ModelLayer):
    """Several models as one, tried in order when one is down, overloaded or locked.

    The first reply of an attempt (run, scope and attempt of the call) binds it to the model that gave it: a conversation never
    changes its model midway. The name is the first model's; abilities and window are what all of them have.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise ConfigurationError("a fallback needs at least one model")
        super().__init__(models[0])
        self._models = tuple(models)
        self._bound: OrderedDict[tuple[str, str, int], Model] = OrderedDict()

    @property
    def models(self) -> tuple[Model, ...]:
        """In the order in which they are tried."""
        return self._models

    @property
    def abilities(self) -> Abilities:
        names = self._models[0].abilities
        return {name: all(model.abilities.get(name, False) for model in self._models) for name in names}

    @property
    def context_window(self) -> int | None:
        return min((model.context_window for model in self._models if model.context_window is not None), default=None)

    async def chat(self, request: Request, call: Call) -> Reply:
        turns = _Turns(self._candidates(call))
        while True:
            model = turns.next_model()
            try:
                reply = await model.chat(request, call)
            except ModelError as error:
                turns.go_on_after(error)
            else:
                self._bind(call, model)
                return turns.added_to(reply)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """As `chat`. What a failed model has shown is void after the `Reset` that precedes the next one's pieces."""
        turns = _Turns(self._candidates(call))
        while True:
            model, shown = turns.next_model(), False
            try:
                async with aclosing(model.stream_chat(request, call)) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, Reply):
                            self._bind(call, model)
                        yield turns.added_to(piece) if isinstance(piece, Reply) else piece
                        shown = True
                return
            except ModelError as error:
                turns.go_on_after(error)
                if shown:
                    yield Reset(str(error))

    def _candidates(self, call: Call) -> tuple[Model, ...]:
        bound = self._bound.get(_key(call))
        return self._models if bound is None else (bound,)

    def _bind(self, call: Call, model: Model) -> None:
        self._bound.setdefault(_key(call), model)
        self._bound.move_to_end(_key(call))
        if len(self._bound) > MOST_BINDINGS:
            self._bound.popitem(last=False)


class _Turns:
    """Models in the order they are tried for one reply, and what the failed ones cost."""

    def __init__(self, models: Sequence[Model]) -> None:
        self._left = deque(models)
        self._spent = Usage()

    def next_model(self) -> Model:
        return self._left.popleft()

    def go_on_after(self, error: ModelError) -> None:
        """Raises the error when no other model is left, or none would help."""
        self._spent += cost_of(error)
        if not self._left or not isinstance(error, _ELSEWHERE):
            error.usage = self._spent
            raise error

    def added_to(self, reply: Reply) -> Reply:
        return replace(reply, usage=self._spent + reply.usage)


def _key(call: Call) -> tuple[str, str, int]:
    return call.run, call.scope, call.attempt
