"""Facts of a budget."""

from decimal import Decimal

from orchestrator.events.recorded import decode_fact, encode_fact
from orchestrator.events.spending import BudgetDrawn
from registry.budget import Spending


def test_amounts_keep_every_digit() -> None:
    """A run that goes on counts on from what is written."""
    spent = Spending(tokens=10**12, cost=Decimal("0.10000000000000000001"), requests=3)
    drawn = BudgetDrawn(step="a", spent=spent, held=Spending(requests=1), seconds=0.1, estimated=2)

    assert drawn == decode_fact(encode_fact(drawn))
