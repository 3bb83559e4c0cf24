"""What calls are paid from."""

import anyio
import pytest

from orchestrator.spending.calls import out_of_time, paid, spent_out
from registry.budget import Amounts, Budget
from registry.calls import Call
from registry.errors import OverBudget, Unreachable

pytestmark = pytest.mark.anyio


async def test_a_call_ends_with_the_time_of_what_pays_for_it() -> None:
    """Or sooner, where it has a deadline; without a budget it stays as it is."""
    now, call = anyio.current_time(), Call()
    budget = Budget(Amounts(seconds=5.0), since=now)
    endless = Budget(Amounts(requests=1), since=now)

    assert call is paid(call, None)
    assert [now + 5, now + 2, None] == [
        paid(Call(deadline=deadline), each).deadline for deadline, each in ((now + 9, budget), (now + 2, budget), (None, endless))
    ]
    assert endless is paid(call, endless).budget


async def test_what_an_error_comes_to() -> None:
    """A request that can't be paid, and any error when time is over, are the end of the budget; others are themselves."""
    budget = Budget(Amounts(seconds=5.0), since=anyio.current_time(), whose="step 'a'")
    gone, over = Unreachable("m", "down"), OverBudget("the run", "cost", left=0)

    assert "the run has used up its dollars" == str(spent_out(over, budget))
    assert spent_out(gone, budget) is None is spent_out(gone, None)
    await anyio.sleep(6)
    assert "step 'a' has used up its seconds" == str(spent_out(gone, budget)) == str(out_of_time(budget))
