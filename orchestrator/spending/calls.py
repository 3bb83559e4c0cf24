"""Calls of models, and what they are paid from."""

from math import inf

import anyio
from msgspec.structs import replace

from orchestrator.errors import BudgetExhausted
from registry.budget import Budget
from registry.calls import Call
from registry.errors import DagwrightError, OverBudget


def paid(call: Call, budget: Budget | None) -> Call:
    """The call, paid from this budget and no longer than its time lasts."""
    if budget is None:
        return call
    ends = min(budget.until, inf if call.deadline is None else call.deadline)
    return replace(call, budget=budget, deadline=None if ends == inf else ends)


def spent_out(error: DagwrightError, budget: Budget | None) -> BudgetExhausted | None:
    """What an error comes to where nothing is left to ask a model with, or no time; None for any other error."""
    if isinstance(error, OverBudget):
        return BudgetExhausted.by(error)
    return out_of_time(budget)


def out_of_time(budget: Budget | None) -> BudgetExhausted | None:
    """The clock of a budget, when its time is over."""
    return None if budget is None or anyio.current_time() < budget.until else BudgetExhausted("seconds", budget.whose)
