"""What requests cost, added up."""

from registry.usage import UNMETERED, Usage


def test_sums_are_field_by_field() -> None:
    """Adding two usages adds each of their figures."""
    one = Usage(requests=1, input_tokens=10, output_tokens=5, cache_read_tokens=4, cache_write_tokens=3, reasoning_tokens=2)

    assert one + one == Usage(
        requests=2, input_tokens=20, output_tokens=10, cache_read_tokens=8, cache_write_tokens=6, reasoning_tokens=4
    )
    assert 15 == one.tokens


def test_unknown_is_not_zero() -> None:
    """One request that nobody metered makes a total a lower bound, and stays visible in every sum."""
    total = Usage(requests=1, input_tokens=10) + UNMETERED + Usage()

    assert (2, 10, 1, False) == (total.requests, total.tokens, total.unmetered, total.exact)
    assert Usage().exact
