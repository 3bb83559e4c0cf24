"""Money and tokens are set aside before a request leaves."""

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from decimal import Decimal

import anyio
from msgspec.structs import replace

from registry.budget import Budget, Reservation, Spending
from registry.calls import Call
from registry.context.estimating import request_tokens
from registry.errors import ModelError, OverBudget, Unpriced
from registry.governor.fallback import FallbackModel
from registry.governor.retry import cost_of
from registry.messages import Piece, Reply, Request
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.models.prices import Tariff
from registry.usage import NOTHING, UNMETERED, Usage

CAP = 4096
"""Tokens of a reply for which nobody names a cap, where there is a budget."""

LEAST_CAP = 256
"""Tokens of a reply with less room than which nothing is asked any more."""


class BudgetedModel(ModelLayer):
    """A model that is asked only as far as the call's budget goes: each attempt is set aside before it leaves, and settled after.

    Where tokens or money are limited, a request always leaves with a cap: its own, or else `cap`, in tokens, as far as the window
    has room for it. `thinking` is what the model may think beyond any cap. `tariff` is what is charged now, None where nobody
    knows. A request that has no room left only because of others in flight waits for those; where that is no use, it leaves with
    a cap as small as what is left, but none below `LEAST_CAP`.
    """

    def __init__(
        self, inner: Model, tariff: Callable[[], Tariff | None] = lambda: None, *, cap: int = CAP, thinking: int = 0
    ) -> None:
        super().__init__(inner)
        self.tariff = tariff
        self._cap, self._thinking = cap, thinking

    async def chat(self, request: Request, call: Call) -> Reply:
        if call.budget is None:
            return await self._inner.chat(request, call)
        account = await self._opened(call.budget, request, call)
        try:
            reply = await self._inner.chat(account.request, account.call)
            account.usage = reply.usage
            return reply
        except ModelError as error:
            account.usage = cost_of(error)
            raise
        finally:
            account.close()

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """As `chat`. A stream that is left early counts as was estimated."""
        if call.budget is None:
            async with aclosing(self._inner.stream_chat(request, call)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        account = await self._opened(call.budget, request, call)
        try:
            async with aclosing(self._inner.stream_chat(account.request, account.call)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Reply):
                        account.usage = piece.usage
                    yield piece
        except ModelError as error:
            account.usage = cost_of(error)
            raise
        finally:
            account.close()

    async def _opened(self, budget: Budget, request: Request, call: Call) -> "_Account":
        request, amount = self._estimated(budget, request)
        while True:
            try:
                reservation = budget.reserve(amount, anyio.current_time())
                break
            except OverBudget as error:
                if await budget.settled(amount, call.ends):
                    continue
                modest = self._within_what_is_left(budget, request)
                if modest is None:
                    budget.ran_short(error)
                    raise
                request, amount = modest
        account = _Account(budget, reservation, request, call)
        try:
            await budget.noted(call.label)
        except BaseException:
            account.usage = Usage()  # it was not sent
            account.close()
            raise
        return account

    def _estimated(self, budget: Budget, request: Request, most: int | None = None) -> tuple[Request, Spending]:
        """The request as it is to be sent, and the most that it may take. `most` is the most that its cap may be."""
        if not budget.limits_any("tokens", "cost"):
            return request, Spending(requests=1)
        came = request_tokens(request.messages, request.tools)
        cap = min(request.max_tokens or self._roomy(came), most or math.inf)
        usage = Usage(requests=1, input_tokens=came, output_tokens=int(cap) + self._thinking)
        return replace(request, max_tokens=int(cap)), Spending(tokens=usage.tokens, cost=self._charge(budget, usage), requests=1)

    def _within_what_is_left(self, budget: Budget, request: Request) -> tuple[Request, Spending] | None:
        """The request with a smaller cap that may fit, and what it takes then; None where there is none."""
        cap = request.max_tokens
        while cap is not None and cap > LEAST_CAP:
            cap = max(LEAST_CAP, cap // 2)
            smaller = self._estimated(budget, request, cap)
            if budget.could_take(smaller[1]):
                return smaller
        return None

    def _roomy(self, came: int) -> int:
        return self._cap if self.context_window is None else max(1, min(self._cap, self.context_window - came))

    def _charge(self, budget: Budget, usage: Usage) -> Decimal:
        if not budget.limits_any("cost"):
            return NOTHING
        if (tariff := self.tariff()) is not None:
            return tariff.charge(usage)
        if budget.unpriced == "allow":
            return NOTHING
        raise Unpriced(self.name)


class _Account:
    """One request that is paid from a budget. Until somebody says otherwise, nobody knows its `usage`."""

    def __init__(self, budget: Budget, reservation: Reservation, request: Request, call: Call) -> None:
        self.request, self.usage = request, UNMETERED
        self._budget, self._reservation, self._call = budget, reservation, call

    @property
    def call(self) -> Call:
        """The call, which ends with the budget's time, and may be sent again only as often as there are requests left."""
        ends = self._call.ends
        return replace(self._call, again=self._again, deadline=None if ends == math.inf else ends)

    def close(self) -> None:
        self._budget.settle(self._reservation, self.usage)

    async def _again(self) -> None:
        self._budget.enlarge(self._reservation, anyio.current_time())
        await self._budget.noted(self._call.label)


def is_budgeted(model: Model) -> bool:
    """Whether each request of the model passes a budget, whoever of those under it is asked."""
    match model:
        case BudgetedModel():
            return True
        case FallbackModel(models=models):
            return all(is_budgeted(each) for each in models)
        case ModelLayer(inner=inner):
            return is_budgeted(inner)
        case _:
            return False


def tariff_under(model: Model) -> Tariff | None:
    """What is charged for the model now, for the first of several; None where nobody knows."""
    match model:
        case BudgetedModel(tariff=tariff):
            return tariff()
        case FallbackModel(models=models):
            return tariff_under(models[0])
        case ModelLayer(inner=inner):
            return tariff_under(inner)
        case _:
            return None


def unpriced(model: Model) -> tuple[str, ...]:
    """The names of the models under this one of which nobody knows what they charge: a budget in money can't hold for them."""
    match model:
        case FallbackModel(models=models):
            return tuple(dict.fromkeys(name for each in models for name in unpriced(each)))
        case BudgetedModel(tariff=tariff) if tariff() is not None:
            return ()
        case ModelLayer(inner=inner) if not isinstance(model, BudgetedModel):
            return unpriced(inner)
        case _:
            return (model.name,)
