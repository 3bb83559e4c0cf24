"""What a run may spend, and a step of it: tokens, money, requests and seconds, set aside before a request and settled after.

Everything here is decided at once, so branches that run side by side can't each spend the same rest. Requests are exact. Tokens
and money are set aside by an estimate, and may be missed by its error for what is in flight.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import anyio

from registry.errors import OverBudget
from registry.usage import NOTHING, Usage

Kind = Literal["tokens", "cost", "requests", "seconds"]

_Counted = Literal["tokens", "cost", "requests"]
_COUNTED: tuple[_Counted, ...] = ("tokens", "cost", "requests")

LANDING = 0.8
"""The part of a budget after which it is time to come to an end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Tokens, US dollars, requests and seconds: limits, or what is left of them. None for what has no limit."""

    tokens: int | None = None
    cost: Decimal | None = None
    requests: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Tokens, US dollars and requests: spent, or to be set aside."""

    tokens: int = 0
    cost: Decimal = NOTHING
    requests: int = 0

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(tokens=self.tokens + other.tokens, cost=self.cost + other.cost, requests=self.requests + other.requests)

    def __sub__(self, other: "Spending") -> "Spending":
        return Spending(tokens=self.tokens - other.tokens, cost=self.cost - other.cost, requests=self.requests - other.requests)


@dataclass(slots=True, eq=False)
class Reservation:
    """What is set aside for one request, until that is settled."""

    amount: Spending


class Budget:
    """A limit on what is spent, and all that was spent under it. `whose` it is, errors say: "the run", "step 'a'".

    It begins at the moment `since` of `anyio.current_time()`. A step's budget is made `within` the run's: what it spends, both
    spend. `unpriced` says what becomes of a model whose price nobody knows where money is limited. `tell` hears once for each of
    `marks`, parts of the whole such as 0.8, that so much of some limit is spent.
    """

    def __init__(
        self,
        limits: Amounts,
        *,
        since: float,
        whose: str = "the run",
        unpriced: Literal["refuse", "allow"] = "refuse",
        marks: tuple[float, ...] = (LANDING,),
        tell: Callable[[float], None] | None = None,
    ) -> None:
        self.limits, self.whose, self.unpriced = limits, whose, unpriced
        self.estimated = 0
        """Requests that count as was estimated, since nobody said what they took."""
        self._since, self._seconds = since, math.inf if limits.seconds is None else limits.seconds
        self._marks, self._tell = sorted(marks, reverse=True), tell
        self._spent, self._reserved = Spending(), Spending()
        self._chain: tuple[Budget, ...] = (self,)
        self._changed = _Changes()

    def within(self, limits: Amounts, *, since: float, whose: str) -> "Budget":
        """A budget inside this one, for a step."""
        inner = Budget(limits, since=since, whose=whose, unpriced=self.unpriced, marks=())
        inner._chain, inner._changed = (inner, *self._chain), self._changed
        return inner

    @property
    def until(self) -> float:
        """The moment when its seconds are over, or those of one that it is in."""
        return min(budget._since + budget._seconds for budget in self._chain)

    def limits_any(self, *kinds: Kind) -> bool:
        """Whether it, or one that it is in, limits any of these."""
        return any(getattr(budget.limits, kind) is not None for budget in self._chain for kind in kinds)

    def left(self, now: float) -> Amounts:
        """What is neither spent nor set aside of this budget, never less than nothing."""
        left = {kind: max(type(limit)(0), limit - taken) for kind, taken, limit in self._taken(self._spent + self._reserved)}
        return Amounts(seconds=None if self.limits.seconds is None else max(0.0, self._since + self._seconds - now), **left)

    def used(self, now: float) -> float:
        """The part that is spent, 0.8 for four fifths, of the limit that has the largest part spent."""
        parts = [float(taken / limit) if limit else 1.0 for _, taken, limit in self._taken(self._spent)]
        if self.limits.seconds is not None:
            parts.append((now - self._since) / self._seconds if self._seconds > 0 else 1.0)
        return max(parts, default=0.0)

    def spent(self, usage: Usage, *, seconds: float = 0.0) -> None:
        """Count what an earlier process of the same run has spent, as far as anybody knows."""
        for budget in self._chain:
            budget._spent += Spending(tokens=usage.tokens, cost=usage.cost, requests=usage.requests)
            budget.estimated += usage.unmetered
            budget._since -= seconds

    def reserve(self, amount: Spending, now: float) -> Reservation:
        """Set so much aside here and in all budgets that this one is in, or nowhere. Raises `OverBudget`."""
        self._set_aside(amount, now)
        return Reservation(amount)

    def enlarge(self, reservation: Reservation, now: float) -> None:
        """Set one more request aside: the same one is about to be sent again. Raises `OverBudget`."""
        once_more = Spending(requests=1)
        self._set_aside(once_more, now)
        reservation.amount += once_more

    def settle(self, reservation: Reservation, usage: Usage, now: float) -> None:
        """What was set aside is free again, but for what was used. What nobody metered or priced counts as was estimated."""
        amount = reservation.amount
        cost = usage.cost if usage.cost_exact else max(usage.cost, amount.cost)
        tokens = usage.tokens if usage.exact else max(usage.tokens, amount.tokens)
        for budget in self._chain:
            budget._reserved -= amount
            budget._spent += Spending(tokens=tokens, cost=cost, requests=usage.requests)
            budget.estimated += usage.unmetered
            budget._announce(now)
        self._changed.tell()

    async def settled(self, amount: Spending, until: float) -> bool:
        """Wait until something in flight is settled, for so much might fit then. False when that comes too late, and at once
        when it can't fit any more.
        """
        if not all(budget._fits(amount) for budget in self._chain):
            return False
        with anyio.CancelScope(deadline=until):
            await self._changed.next()
            return True
        return False

    def _set_aside(self, amount: Spending, now: float) -> None:
        for budget in self._chain:
            budget._refuse(amount, now)
        for budget in self._chain:
            budget._reserved += amount

    def _refuse(self, amount: Spending, now: float) -> None:
        if now >= self._since + self._seconds:
            raise OverBudget(self.whose, "seconds", left=0)
        for kind, taken, limit in self._taken(self._spent + self._reserved):
            if (wanted := getattr(amount, kind)) and taken + wanted > limit:
                raise OverBudget(self.whose, kind, left=max(0, limit - taken), wanted=wanted)

    def _fits(self, amount: Spending) -> bool:
        """Whether so much would fit if all that is in flight cost nothing."""
        return all(taken + getattr(amount, kind) <= limit for kind, taken, limit in self._taken(self._spent))

    def _taken(self, taken: Spending) -> Iterator[tuple[_Counted, Any, Any]]:
        """Each kind that is limited, with how much of it is taken and the limit."""
        for kind in _COUNTED:
            if (limit := getattr(self.limits, kind)) is not None:
                yield kind, getattr(taken, kind), limit

    def _announce(self, now: float) -> None:
        """Tell of each mark that is reached, the lowest first, once."""
        used = self.used(now)
        while self._tell is not None and self._marks and used >= self._marks[-1]:
            self._tell(self._marks.pop())


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
