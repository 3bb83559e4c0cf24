"""What a run may spend, and a step of it: tokens, money, requests and seconds, set aside before a request and settled after.

Everything here is decided at once, so branches that run side by side can't each spend the same rest. Requests are exact. Tokens
and money are set aside by an estimate, and may be missed by its error for what is in flight.
"""

import math
from collections.abc import Awaitable, Callable, Iterator
from decimal import Decimal
from typing import Any, Literal

import anyio
from msgspec import Struct

from registry.errors import OverBudget
from registry.usage import NOTHING, Kind, Usage

KINDS: tuple[Kind, ...] = ("requests", "tokens", "cost", "seconds")

_Counted = Literal["tokens", "cost", "requests"]
_COUNTED: tuple[_Counted, ...] = ("tokens", "cost", "requests")

WhenUnpriced = Literal["refuse", "allow"]
"""What becomes of a model whose price nobody knows where money is limited."""

Note = Callable[[str], Awaitable[object]]
"""Hears with the label of a request that something is set aside for it."""

LANDING = 0.8
"""The part of a budget after which it is time to come to an end."""


class Amounts(Struct, frozen=True, kw_only=True):
    """Tokens, US dollars, requests and seconds: limits, or what is left or spent of them. None for what has no limit."""

    tokens: int | None = None
    cost: Decimal | None = None
    requests: int | None = None
    seconds: float | None = None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Those that there is a limit for."""
        return tuple(kind for kind in KINDS if getattr(self, kind) is not None)

    def least(self, other: "Amounts") -> "Amounts":
        """Of each kind the smaller one: what holds where both hold."""
        pairs = {kind: (getattr(self, kind), getattr(other, kind)) for kind in KINDS}
        return Amounts(**{kind: min((each for each in pair if each is not None), default=None) for kind, pair in pairs.items()})


UNLIMITED = Amounts()


class Spending(Struct, frozen=True, kw_only=True):
    """Tokens, US dollars and requests: spent, or to be set aside."""

    tokens: int = 0
    cost: Decimal = NOTHING
    requests: int = 0

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(tokens=self.tokens + other.tokens, cost=self.cost + other.cost, requests=self.requests + other.requests)

    def __sub__(self, other: "Spending") -> "Spending":
        return Spending(tokens=self.tokens - other.tokens, cost=self.cost - other.cost, requests=self.requests - other.requests)


class Reservation(Struct, eq=False):
    """What is set aside for one request, until that is settled."""

    amount: Spending


class Budget:
    """A limit on what is spent, and all that was spent under it. `whose` it is, errors say: "the run", "step 'a'".

    It begins at the moment `since` of `anyio.current_time()`. A step's budget is made `within` the run's: what it spends, both
    spend. `unpriced` says what becomes of a model whose price nobody knows where money is limited. `note` is awaited whenever
    something was set aside and is about to be spent, with the label of what it is for: whoever writes that down knows it even
    when nobody is left to settle it.
    """

    def __init__(
        self,
        limits: Amounts,
        *,
        since: float,
        whose: str = "the run",
        unpriced: WhenUnpriced = "refuse",
        note: Note | None = None,
    ) -> None:
        self.limits, self.whose, self.unpriced = limits, whose, unpriced
        self.estimated = 0
        """Requests that count as was estimated, since nobody said what they took."""
        self.short: Kind | None = None
        """What there was too little of for a request, that was given up for it; None while there was enough."""
        self._since, self._seconds = since, math.inf if limits.seconds is None else limits.seconds
        self._spent, self._reserved, self._leaving = Spending(), Spending(), Spending()
        self._note = note
        self._chain: tuple[Budget, ...] = (self,)
        self._changed = _Changes()

    def within(
        self, limits: Amounts, *, since: float, whose: str, leaving: Spending | None = None, note: Note | None = None
    ) -> "Budget":
        """A budget inside this one, for a step. What it is to be `leaving` of the budgets around it is not to be had from it."""
        inner = Budget(limits, since=since, whose=whose, unpriced=self.unpriced, note=note)
        inner._chain, inner._changed = (inner, *self._chain), self._changed
        inner._leaving = leaving or Spending()
        return inner

    @property
    def until(self) -> float:
        """The moment when its seconds are over, or those of one that it is in."""
        return min(budget._since + budget._seconds for budget in self._chain)

    @property
    def spending(self) -> tuple[Spending, Spending]:
        """What is spent of this budget, and what is set aside besides for requests that are on their way."""
        return self._spent, self._reserved

    def seconds(self, now: float) -> float:
        """How long it has been going on."""
        return now - self._since

    def limits_any(self, *kinds: Kind) -> bool:
        """Whether it, or one that it is in, limits any of these."""
        return any(getattr(budget.limits, kind) is not None for budget in self._chain for kind in kinds)

    def left(self, now: float) -> Amounts:
        """What is neither spent nor set aside, nor kept for others, here and in all that it is in; never less than nothing."""
        left: dict[Kind, Any] = {}
        for kind, taken, limit in self._taken(settled=False):
            rest = max(type(limit)(0), limit - taken)
            left[kind] = min(rest, left.get(kind, rest))
        seconds = None if self.until == math.inf else max(0.0, self.until - now)
        return Amounts(seconds=seconds, **left)

    def used(self, now: float) -> dict[Kind, float]:
        """The part that is spent of each limit, here or around it: 0.8 for four fifths. What is only set aside doesn't count."""
        used: dict[Kind, float] = {}
        for budget, kept in self._around():
            parts: list[tuple[Kind, float]] = [
                (kind, _part(spent, limit - getattr(kept, kind))) for kind, spent, limit in budget._limited(budget._spent)
            ]
            if budget.limits.seconds is not None:
                parts.append(("seconds", _part(now - budget._since, budget._seconds)))
            for kind, part in parts:
                used[kind] = max(part, used.get(kind, part))
        return used

    def bound_by(self, kind: Kind) -> str:
        """Whose limit of this kind, here or around it, is nearest to its end."""
        if kind == "seconds":
            return min(self._chain, key=lambda budget: budget._since + budget._seconds).whose
        left = {
            budget.whose: limit - taken
            for budget, kept in self._around()
            for each, taken, limit in budget._limited(budget._spent + kept)
            if each == kind
        }
        return min(left, key=left.__getitem__)

    def spent(self, usage: Usage, *, seconds: float = 0.0) -> None:
        """Count what an earlier process of the same run has spent, as far as anybody knows. Each budget counts its own."""
        self._spent += Spending(tokens=usage.tokens, cost=usage.cost, requests=usage.requests)
        self.estimated += usage.unmetered
        self._since -= seconds

    def reserve(self, amount: Spending, now: float) -> Reservation:
        """Set so much aside here and in all budgets that this one is in, or nowhere. Raises `OverBudget`."""
        self._set_aside(amount, now)
        return Reservation(amount)

    def ran_short(self, error: OverBudget) -> None:
        """A request is given up because of this."""
        for budget in self._chain:
            if budget.whose == error.whose:
                budget.short = budget.short or error.kind

    async def noted(self, label: str) -> None:
        """Wait until whoever wants to know has noted that something is set aside."""
        for budget in self._chain:
            if budget._note is not None:
                await budget._note(label)

    def enlarge(self, reservation: Reservation, now: float) -> None:
        """Set one more request aside: the same one is about to be sent again. Raises `OverBudget`."""
        once_more = Spending(requests=1)
        self._set_aside(once_more, now)
        reservation.amount += once_more

    def settle(self, reservation: Reservation, usage: Usage) -> None:
        """What was set aside is free again, but for what was used. What nobody metered or priced counts as was estimated."""
        amount = reservation.amount
        cost = usage.cost if usage.cost_exact else max(usage.cost, amount.cost)
        tokens = usage.tokens if usage.exact else max(usage.tokens, amount.tokens)
        for budget in self._chain:
            budget._reserved -= amount
            budget._spent += Spending(tokens=tokens, cost=cost, requests=usage.requests)
            budget.estimated += usage.unmetered
        self._changed.tell()

    async def settled(self, amount: Spending, until: float) -> bool:
        """Wait until something in flight is settled, for so much might fit then. False when that comes too late, and at once
        when it can't fit any more.
        """
        if not self.could_take(amount):
            return False
        with anyio.CancelScope(deadline=until):
            await self._changed.next()
            return True
        return False

    def could_take(self, amount: Spending) -> bool:
        """Whether so much would fit if all that is in flight cost nothing."""
        return all(taken + getattr(amount, kind) <= limit for kind, taken, limit in self._taken(settled=True))

    def _set_aside(self, amount: Spending, now: float) -> None:
        for budget, kept in self._around():
            budget._refuse(amount, kept, now)
        for budget in self._chain:
            budget._reserved += amount

    def _refuse(self, amount: Spending, kept: Spending, now: float) -> None:
        if now >= self._since + self._seconds:
            raise OverBudget(self.whose, "seconds", left=0)
        for kind, taken, limit in self._limited(self._spent + self._reserved + kept):
            if (wanted := getattr(amount, kind)) and taken + wanted > limit:
                raise OverBudget(self.whose, kind, left=max(0, limit - taken), wanted=wanted)

    def _around(self) -> "Iterator[tuple[Budget, Spending]]":
        """It, and the budgets that it is in, each with what is to be left of that."""
        kept = Spending()
        for budget in self._chain:
            yield budget, kept
            kept += budget._leaving

    def _taken(self, *, settled: bool) -> Iterator[tuple[_Counted, Any, Any]]:
        """Each kind that is limited, here or around it, with how much of it is taken and the limit."""
        for budget, kept in self._around():
            yield from budget._limited(budget._spent + kept if settled else budget._spent + budget._reserved + kept)

    def _limited(self, taken: Spending) -> Iterator[tuple[_Counted, Any, Any]]:
        for kind in _COUNTED:
            if (limit := getattr(self.limits, kind)) is not None:
                yield kind, getattr(taken, kind), limit


def _part(spent: Any, limit: Any) -> float:
    if limit > 0:
        return float(spent / limit)
    return 1.0 if spent or not isinstance(limit, Decimal) else 0.0  # what is free may go on without any money


class _Changes:
    """Wakes those who wait for the next change."""

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def tell(self) -> None:
        if self._event is not None:
            self._event.set()
            self._event = None

    async def next(self) -> None:
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()
