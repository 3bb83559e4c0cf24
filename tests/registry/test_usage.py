"""What requests cost, added up."""

from decimal import Decimal

from registry.usage import UNMETERED, Usage


def test_sums_are_field_by_field() -> None:
    """Adding two usages adds each of their figures."""
    one = Usage(
        requests=1,
        input_tokens=10,
        output_tokens=5,
        cache_read_tokens=4,
        cache_write_tokens=3,
        reasoning_tokens=2,
        cost=Decimal("0.25"),
        priced=1,
    )

    assert one + one == Usage(
        requests=2,
        input_tokens=20,
        output_tokens=10,
        cache_read_tokens=8,
        cache_write_tokens=6,
        reasoning_tokens=4,
        cost=Decimal("0.5"),
        priced=2,
    )
    assert 15 == one.tokens


def test_unknown_is_not_zero() -> None:
    """One request that nobody metered makes a total a lower bound, and stays visible in every sum."""
    total = Usage(requests=1, input_tokens=10) + UNMETERED + Usage()

    assert (2, 10, 1, False) == (total.requests, total.tokens, total.unmetered, total.exact)
    assert Usage().exact


def test_an_unknown_cost_is_not_zero() -> None:
    """A request is unpriced until somebody says what it cost, and makes every sum that it is in a lower bound."""
    known = Usage(requests=1, input_tokens=10, cost=Decimal("0.1"), priced=1)
    total = known + Usage(requests=1, input_tokens=10) + UNMETERED

    assert (Decimal("0.1"), 2, False) == (total.cost, total.unpriced, total.cost_exact)
    assert known.cost_exact
    assert Usage().cost_exact


def test_money_adds_up_exactly() -> None:
    """Ten thousand thirds of nothing much are no binary fraction's worth off."""
    each = Usage(requests=1, cost=Decimal("0.000000075"), priced=1)

    assert Decimal("0.00075") == sum([each] * 10_000, Usage()).cost
