"""What a run has spent in all its lives, worked out from its Facts alone."""

from collections.abc import Iterable

from msgspec import Struct

from orchestrator.events.facts import RunStarted, Word
from orchestrator.events.figures import BudgetReport
from orchestrator.events.recorded import Recorded
from orchestrator.events.spending import BudgetDrawn, LandingBegan
from orchestrator.spending.nested import limits_inside
from registry.budget import Amounts, Spending, WhenUnpriced
from registry.usage import Kind, Usage


class Account(Struct, frozen=True, kw_only=True):
    """`usage` is what was spent, and what was on its way when the last life ended: nobody knows what came of that, so it counts
    as was estimated. `seconds` is how long the run was worked on."""

    limits: Amounts
    unpriced: WhenUnpriced
    usage: Usage
    seconds: float
    near: Kind | None

    @property
    def report(self) -> BudgetReport | None:
        """For whoever reads the summary; None where the run itself has no limits."""
        if not self.limits.kinds:
            return None
        usage = self.usage
        spent = Amounts(tokens=usage.tokens, cost=usage.cost, requests=usage.requests, seconds=self.seconds)
        return BudgetReport(limits=self.limits, spent=spent, estimated=usage.unmetered, near=self.near)


def account(facts: Iterable[Recorded]) -> Account | None:
    """The account of a run; None for one without limits, of its own or of a plan inside it."""
    started: RunStarted | None = None
    drawn = BudgetDrawn(step="", spent=Spending(), held=Spending(), seconds=0.0)
    near: Kind | None = None
    since = last = 0.0
    for recorded in facts:
        if isinstance(recorded.event, Word):  # said by others, and perhaps long after the run was left
            continue
        last = recorded.time
        match recorded.event:
            case RunStarted():
                started, since = recorded.event, last
            case BudgetDrawn():
                drawn, since = recorded.event, last
            case LandingBegan(limit=limit):
                near = near or limit
            case _:
                pass
    if started is None or not (started.limits.kinds or (started.plan and any(limits_inside(started.plan)))):
        return None
    seconds = drawn.seconds + max(0.0, last - since)
    return Account(limits=started.limits, unpriced=started.unpriced, usage=_usage(drawn), seconds=seconds, near=near)


def _usage(drawn: BudgetDrawn) -> Usage:
    spent, lost = drawn.spent + drawn.held, drawn.held.requests
    return Usage(
        requests=spent.requests,
        input_tokens=spent.tokens,
        cost=spent.cost,
        priced=spent.requests,
        unmetered=drawn.estimated + lost,
    )
