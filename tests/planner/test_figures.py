"""Figures of what is to come."""

from decimal import Decimal

import pytest

from planner.figures import (
    ASSUMED,
    DECLARED,
    Basis,
    Figures,
    Span,
    declared,
    least_sure,
    one_after_another,
    perhaps,
    summed,
    times,
)
from planner.plan import Spread

ONE_TO_THREE: Span[float] = Span(1, 2, 3)


def test_spans_add_up_and_multiply() -> None:
    """The lowest with the lowest, the highest with the highest."""
    assert Span(2, 4, 6) == summed([ONE_TO_THREE, ONE_TO_THREE]) == times(ONE_TO_THREE, Span(2, 2, 2))
    assert Span(0, 2, 9) == times(ONE_TO_THREE, Span(0, 1, 3))


def test_what_a_plan_says() -> None:
    """Nothing where it says nothing."""
    assert None is declared(None)
    assert ONE_TO_THREE == declared(Spread(low=1, likely=2, high=3))


def test_what_may_not_be() -> None:
    """It takes nothing at the least, and is known as well as before."""
    cost = Span(Decimal(1), Decimal(2), Decimal(3))
    found = perhaps(Figures(calls=ONE_TO_THREE, tokens=ONE_TO_THREE, seconds=ONE_TO_THREE, cost=cost, basis=DECLARED))

    assert {Span(0, 2, 3)} == {found.calls, found.tokens, found.seconds}
    assert (Span(0, 2, 3), DECLARED) == (found.cost, found.basis)


def test_an_unknown_price_makes_both_unknown() -> None:
    """What one costs says nothing of both."""
    assert None is one_after_another(Figures(), Figures(cost=None)).cost


@pytest.mark.parametrize(
    ("bases", "expected"),
    [
        pytest.param([], ASSUMED, id="nothing"),
        pytest.param([DECLARED, Basis("history", 2)], Basis("history", 2), id="history is less than the author's word"),
        pytest.param([Basis("history", 2), Basis("history", 1)], Basis("history", 1), id="once is less than twice"),
        pytest.param([Basis("history", 9), ASSUMED, DECLARED], ASSUMED, id="nobody knows"),
    ],
)
def test_all_are_as_sure_as_the_least_sure(bases: list[Basis], expected: Basis) -> None:
    """A sum is known no better than any part of it."""
    assert expected == least_sure(bases)
