"""Figures of what is to come: low, likely and high, and where they come from."""

from collections.abc import Iterable
from decimal import Decimal
from functools import reduce
from operator import add
from typing import Generic, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from planner.plan import Spread
from registry.usage import NOTHING

N = TypeVar("N", float, Decimal)


class Span(Struct, Generic[N], frozen=True):
    """At the least, most probably, and at the most."""

    low: N
    likely: N
    high: N

    @property
    def points(self) -> tuple[N, N, N]:
        return self.low, self.likely, self.high

    def __add__(self, other: "Span[N]") -> "Span[N]":
        return Span(self.low + other.low, self.likely + other.likely, self.high + other.high)


NONE: Span[float] = Span(0.0, 0.0, 0.0)
AT_NO_COST = Span(NOTHING, NOTHING, NOTHING)
ONCE: Span[float] = Span(1.0, 1.0, 1.0)


class Basis(Struct, frozen=True):
    """Where a figure comes from: the plan declares it, so many steps that ran before took so long, or nobody knows better."""

    kind: Literal["declared", "history", "default"] = "default"
    times: int = 0


ASSUMED = Basis()
DECLARED = Basis("declared")
_SURENESS = ("default", "history", "declared")


class Figures(Struct, frozen=True, kw_only=True):
    """What something takes. `cost` is in US dollars, None where nobody knows the price of a model that may do it. `basis` is
    that of the seconds; what consists of others is as sure as the least sure of them."""

    calls: Span[float] = NONE
    tokens: Span[float] = NONE
    seconds: Span[float] = NONE
    cost: Span[Decimal] | None = AT_NO_COST
    basis: Basis = ASSUMED


def least_sure(bases: Iterable[Basis]) -> Basis:
    """That of the figure which is known least well."""
    return min(bases, key=lambda basis: (_SURENESS.index(basis.kind), basis.times), default=ASSUMED)


def one_after_another(one: Figures, other: Figures) -> Figures:
    """What both take, neither of which is known from anywhere."""
    cost = None if one.cost is None or other.cost is None else one.cost + other.cost
    return Figures(
        calls=one.calls + other.calls, tokens=one.tokens + other.tokens, seconds=one.seconds + other.seconds, cost=cost
    )


def perhaps(figures: Figures) -> Figures:
    """What may not come to anything, and then takes nothing."""
    cost = None if figures.cost is None else Span(NOTHING, figures.cost.likely, figures.cost.high)
    calls, tokens, seconds = (Span(0.0, span.likely, span.high) for span in (figures.calls, figures.tokens, figures.seconds))
    return replace(figures, calls=calls, tokens=tokens, seconds=seconds, cost=cost)


def times(span: Span[float], number: Span[float]) -> Span[float]:
    """So much, so often."""
    return Span(span.low * number.low, span.likely * number.likely, span.high * number.high)


def paid(cost: Span[Decimal], number: Span[float]) -> Span[Decimal]:
    """So much money, so often."""
    return Span(cost.low * int(number.low), cost.likely * int(number.likely), cost.high * int(number.high))


def summed(spans: Iterable[Span[float]]) -> Span[float]:
    """All together."""
    return reduce(add, spans, NONE)


def declared(said: Spread | None) -> Span[float] | None:
    """What a plan says, None where it says nothing."""
    return None if said is None else Span(said.low, said.likely, said.high)
