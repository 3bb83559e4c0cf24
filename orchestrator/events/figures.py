"""What a run came to, in figures."""

from decimal import Decimal

from msgspec import Struct
from msgspec.structs import asdict

from registry.budget import Amounts
from registry.messages import Json
from registry.usage import Kind, Usage


class BudgetReport(Struct, frozen=True, kw_only=True):
    """What a run was allowed, and what it `spent`. `near` is the limit that its steps came near to.

    While some requests count as was `estimated`, tokens and money are what was set aside for those.
    """

    limits: Amounts
    spent: Amounts
    estimated: int = 0
    near: Kind | None = None


class Summary(Struct, frozen=True, kw_only=True):
    """What a run came to. `step_seconds` is the sum over its steps, so `step_seconds - wall_seconds` is what
    running side by side won. `overlapped` names the steps that ran while another did. `reused` counts steps and calls that a
    resumed or revised run did not have to pay for again. `iterations` sums the laps of all steps' loops.
    `budget` is None for a run without limits."""

    wall_seconds: float
    step_seconds: float
    usage: Usage
    tool_calls: int
    steps: int
    succeeded: int
    failed: int
    skipped: int
    reused: int
    overlapped: tuple[str, ...]
    iterations: int = 0
    budget: BudgetReport | None = None


def told(summary: Summary) -> dict[str, Json]:
    """The figures for programs. Money is text; of a budget only what was limited is told."""
    usage, budget = summary.usage, summary.budget
    return {
        "iterations": summary.iterations,
        "usage": plain_usage(usage),
        "elapsed": summary.wall_seconds,
        **({} if budget is None else {"budget": _report(budget)}),
    }


def plain(summary: Summary) -> dict[str, Json]:
    """All of it as plain JSON, field by field."""
    budget = summary.budget and _report(summary.budget)
    return asdict(summary) | {"usage": plain_usage(summary.usage), "budget": budget}


def plain_usage(usage: Usage) -> dict[str, Json]:
    """A usage as plain JSON, its money as text."""
    return {**asdict(usage), "cost": f"{usage.cost:f}"}


def _report(budget: BudgetReport) -> dict[str, Json]:
    limited = budget.limits.kinds
    return {
        "limits": {kind: _plain(getattr(budget.limits, kind)) for kind in limited},
        "spent": {kind: _plain(getattr(budget.spent, kind)) for kind in limited},
        "estimated": budget.estimated,
        "near": budget.near,
    }


def _plain(amount: object) -> Json:
    return f"{amount:f}" if isinstance(amount, Decimal) else amount
