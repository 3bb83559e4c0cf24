"""Arithmetic."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.builtin.calculator import calculate, calculator
from registry.calls import NO_CALL
from registry.errors import ToolFailed


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        pytest.param("1 + 2 * 3", 7, id="precedence"),
        pytest.param(" (1 + 2) * 3 ", 9, id="parentheses"),
        pytest.param("-2 ** 2", -4, id="unary"),
        pytest.param("7 / 2", 3.5, id="division"),
        pytest.param("7 // 2 + 7 % 4", 6, id="whole division"),
        pytest.param("2 ** -1", 0.5, id="negative power"),
        pytest.param("2 ** 100", 2**100, id="large"),
        pytest.param("sqrt(16) + abs(-3) + min(2, 1) + max(2, 3, 4)", 12.0, id="functions"),
        pytest.param("round(2.567, 1) + round(2.4)", 4.6, id="round"),
        pytest.param("max(5)", 5, id="one argument"),
        pytest.param("1_000 + 1e3", 2000.0, id="ways to write numbers"),
    ],
)
def test_values(expression: str, value: float) -> None:
    """What is arithmetic is worked out."""
    assert value == calculate(expression)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        pytest.param("1 / 0", "division by zero", id="zero"),
        pytest.param("9 ** 9 ** 9", "too large", id="power"),
        pytest.param("10 ** 3000 * 10 ** 3000", "too large", id="product"),
        pytest.param("1e308 * 10", "too large", id="float"),
        pytest.param("1e999", "too large", id="literal"),
        pytest.param("(-8) ** 0.5", "not a real number", id="complex"),
        pytest.param("sqrt(-1)", "no real square root", id="root"),
        pytest.param("round(5, -1000000)", "at most 100 digits", id="round"),
        pytest.param("x + 1", "'x' is not known; there are: sqrt, abs, round, min, max", id="name"),
        pytest.param("__import__('os')", "'__import__' is not known", id="import"),
        pytest.param("(1).real", "is not arithmetic", id="attribute"),
        pytest.param("[1][0]", "is not arithmetic", id="index"),
        pytest.param("'a' * 9", "is not arithmetic", id="text"),
        pytest.param("True + 1", "is not arithmetic", id="bool"),
        pytest.param("1j", "is not arithmetic", id="imaginary"),
        pytest.param("min(1, key=2)", "is not arithmetic", id="keyword"),
        pytest.param("2 ^ 3", "a power is written '**'", id="caret"),
        pytest.param("1,000", "write 1000, not 1,000", id="comma"),
        pytest.param("1 +", "is not an arithmetic expression", id="unfinished"),
        pytest.param("", "is not an arithmetic expression", id="empty"),
        pytest.param("1" * 1_001, "may have 1000 characters, this one has 1001", id="long"),
        pytest.param("(" * 400 + "1" + ")" * 400, "too many nested parentheses", id="deep"),
        pytest.param("abs()", "abs() takes exactly one argument", id="arguments"),
    ],
)
def test_refusals(expression: str, why: str) -> None:
    """What is not arithmetic, or would never end, is refused with a sentence that says so."""
    with pytest.raises(ToolFailed) as refused:
        calculate(expression)

    assert why in refused.value.why
    assert len(refused.value.why) < 200


@given(st.text(alphabet="0123456789+-*/%(). ,eEabsqrtmin", max_size=30))
def test_ends_in_a_number_or_a_refusal(expression: str) -> None:
    """No expression raises anything else, or takes long."""
    with suppress(ToolFailed):
        assert isinstance(calculate(expression), int | float)


@pytest.mark.anyio
async def test_is_a_trusted_pure_tool() -> None:
    """It may run beside others, and adds no origin."""
    assert await calculator.run({"expression": "6 * 7"}, NO_CALL) == 42
    assert (calculator.traits.effect, calculator.traits.trusted) == ("pure", True)
