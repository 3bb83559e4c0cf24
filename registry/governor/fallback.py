"""Another model when the first can't be had."""

from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from registry.calls import Call
from registry.errors import (
    ConfigurationError,
    ModelError,
    Overloaded,
    Refused,
    Unable,
    Unauthorized,
    Unreachable,
    WindowExceeded,
)
from registry.governor.retry import cost_of
from registry.messages import Piece, Reply, Request, Reset
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.usage import Usage

MOST_BINDINGS = 4096
"""Attempts whose model is remembered; the oldest are forgotten first, long after their end."""

_OUTAGES = (Unreachable, Overloaded, Unauthorized)
_NO_SUCH_MODEL = 404


class FallbackModel(ModelLayer):
    """Several models as one, tried in order when one is down, overloaded, locked, not there, or has too small a window.

    The first reply of an attempt (run, scope and attempt of the call) binds it to the model that gave it: a conversation never
    changes its model midway. Calls outside any run are each for themselves. To its users it looks like the first model, but
    with the smallest window of all, so that what fits it fits whoever answers.

    A request passes over the models that lack what it needs: `tool_call` for tools, `json_schema` or `json_mode` for a response
    format. When no other is left, the call raises `Unable`, and from then on its attempt belongs to those that were passed over:
    they may well answer when they are asked in another way.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise ConfigurationError("a fallback needs at least one model")
        super().__init__(models[0])
        self._models = tuple(models)
        self.punctual = all(getattr(model, "punctual", False) for model in models)
        self._bound: OrderedDict[tuple[str, str, int], tuple[Model, ...]] = OrderedDict()

    @property
    def models(self) -> tuple[Model, ...]:
        """In the order in which they are tried."""
        return self._models

    @property
    def context_window(self) -> int | None:
        return min((model.context_window for model in self._models if model.context_window is not None), default=None)

    async def chat(self, request: Request, call: Call) -> Reply:
        turns = self._turns(request, call)
        while True:
            model = self._next(turns, call)
            try:
                reply = await model.chat(request, call)
            except ModelError as error:
                turns.go_on_after(model, error)
            else:
                self._bind(call, (model,))
                return turns.added_to(reply)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """As `chat`. What a failed model has shown is void after the `Reset` that precedes the next one's pieces."""
        turns = self._turns(request, call)
        while True:
            model, shown = self._next(turns, call), False
            try:
                async with aclosing(model.stream_chat(request, call)) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, Reply):
                            self._bind(call, (model,))
                        yield turns.added_to(piece) if isinstance(piece, Reply) else piece
                        shown = True
                return
            except ModelError as error:
                turns.go_on_after(model, error)
                if shown:
                    yield Reset(str(error))

    def _turns(self, request: Request, call: Call) -> "_Turns":
        return _Turns(self._bound.get(_key(call), self._models), _needs(request))

    def _next(self, turns: "_Turns", call: Call) -> Model:
        model = turns.next_model()
        if model is None:
            self._bind(call, turns.lacking)
            raise turns.unable()
        return model

    def _bind(self, call: Call, models: tuple[Model, ...]) -> None:
        if not call.run:  # calls outside any run are no conversation
            return
        if len(self._bound.get(_key(call), self._models)) > 1:
            self._bound[_key(call)] = models
        self._bound.move_to_end(_key(call))
        if len(self._bound) > MOST_BINDINGS:
            self._bound.popitem(last=False)


class _Turns:
    """Models in the order they are tried for one reply, those that lack what it `needs`, and what the failed ones cost."""

    def __init__(self, models: Sequence[Model], needs: tuple[str, ...]) -> None:
        able = [model for model in models if not needs or any(model.abilities.get(need, False) for need in needs)]
        self.lacking = tuple(model for model in models if model not in able)
        self._needs = needs
        self._left = deque(able)
        self._last: ModelError | None = None
        self._spent = Usage()

    def next_model(self) -> Model | None:
        """None when only those are left that lack what is needed."""
        return self._left.popleft() if self._left else None

    def go_on_after(self, model: Model, error: ModelError) -> None:
        """Raises the error when no other model is left, or none would help."""
        self._spent += cost_of(error)
        self._last = error
        if not self._helps(model, error):
            error.usage = self._spent
            if isinstance(error, Refused):
                error.model = error.model or model.name
            raise error

    def unable(self) -> Unable:
        error = Unable(self._needs, tuple(model.name for model in self.lacking), last=self._last)
        error.usage = self._spent
        return error

    def added_to(self, reply: Reply) -> Reply:
        return replace(reply, usage=self._spent + reply.usage)

    def _helps(self, failed: Model, error: ModelError) -> bool:
        """Whether another model may do better; those that would not are struck off."""
        match error:
            case WindowExceeded():
                self._left = deque(model for model in self._left if _roomier(model, failed))
                return bool(self._left)
            case Refused(status=status) if status != _NO_SUCH_MODEL:
                return False
            case _:
                return isinstance(error, (*_OUTAGES, Refused)) and bool(self._left or self.lacking)


def _needs(request: Request) -> tuple[str, ...]:
    """The abilities of which a model must have one to take the request, none for a request that any model can take."""
    if request.tools:
        return ("tool_call",)
    if request.response_format is None:
        return ()
    return ("json_mode",) if request.response_format.schema is None else ("json_schema", "json_mode")


def _roomier(model: Model, than: Model) -> bool:
    return model.context_window is not None and than.context_window is not None and model.context_window > than.context_window


def _key(call: Call) -> tuple[str, str, int]:
    return call.run, call.scope, call.attempt
