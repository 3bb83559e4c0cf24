"""Limits that are none are not taken for some."""

from decimal import Decimal
from typing import Any

import pytest

from orchestrator import Limits
from registry.budget import Amounts
from registry.errors import ConfigurationError


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        pytest.param({"max_requests": 0}, "max_requests must be above 0, and not 0", id="no requests"),
        pytest.param({"max_tokens": -5}, "max_tokens must be above 0", id="less than none"),
        pytest.param({"max_seconds": 0.0}, "max_seconds must be above 0", id="no time"),
        pytest.param({"max_cost": Decimal(-1)}, "max_cost must be above 0", id="a debt"),
        pytest.param({"max_cost": 0.5}, "such as Decimal\\('0.5'\\), and not the float 0.5", id="a float"),
    ],
)
def test_what_is_no_limit(limit: dict[str, Any], why: str) -> None:
    """It is refused at once, with what to write."""
    with pytest.raises(ConfigurationError, match=why):
        Limits(**limit)


def test_what_a_run_may_take() -> None:
    """The four as one value. No money at all is a limit, for models that are free."""
    limits = Limits(max_requests=5, max_cost=Decimal(0), max_seconds=2.5)

    assert Amounts(requests=5, cost=Decimal(0), seconds=2.5) == limits.budget
    assert () == Limits().budget.kinds
