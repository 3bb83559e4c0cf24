"""What a run has spent, from its Facts alone."""

from decimal import Decimal

from orchestrator.events.facts import Answered, Fact, PhaseBegan, RunInterrupted, RunStarted
from orchestrator.events.figures import BudgetReport
from orchestrator.events.recorded import Recorded
from orchestrator.events.spending import BudgetDrawn, LandingBegan
from orchestrator.spending.accounts import Account, account
from planner import Plan, PlanStep, Step
from planner.plan import PlanLimits
from registry.budget import UNLIMITED, Amounts, Spending
from registry.usage import Usage

LIMITS = Amounts(requests=10, cost=Decimal(1))


def started(limits: Amounts = LIMITS, plan: Plan | None = None) -> RunStarted:
    return RunStarted(goal="g", plan=plan, inputs={}, today="2026-01-02", limits=limits, unpriced="allow")


def drawn(spent: int, held: int, seconds: float) -> BudgetDrawn:
    return BudgetDrawn(
        step="a", spent=Spending(requests=spent, cost=Decimal("0.1")), held=Spending(requests=held, tokens=7), seconds=seconds
    )


def told(*facts: tuple[float, Fact]) -> list[Recorded]:
    return [Recorded(seq=place, time=time, run="r", event=fact) for place, (time, fact) in enumerate(facts, 1)]


def test_what_was_on_its_way_counts() -> None:
    """Nobody knows what came of it. The last word on it is what holds, since requests that never left come back."""
    found = account(told((5.0, started()), (6.0, drawn(4, 3, 1.0)), (7.0, drawn(3, 2, 2.0)), (7.5, RunInterrupted(why="x"))))

    assert (
        Account(
            limits=LIMITS,
            unpriced="allow",
            usage=Usage(requests=5, input_tokens=7, cost=Decimal("0.1"), priced=5, unmetered=2),
            seconds=2.5,
            near=None,
        )
        == found
    )


def test_only_work_takes_time() -> None:
    """What others say to a run that nobody works on does not, nor does the time until it is taken up again."""
    answered = Answered(waiting="w", key="k", decision="approve")
    facts = told((0.0, started()), (4.0, PhaseBegan(phase="executing")), (900.0, answered), (1000.0, drawn(0, 0, 4.0)))

    assert (4.0, 4.0) == tuple(each.seconds for each in (account(facts[:3]), account(facts)) if each is not None)


def test_the_first_limit_that_a_run_lands_for_is_told() -> None:
    """With what was spent of all."""
    facts = told((0.0, started()), (1.0, LandingBegan(limit="cost", used=0.8)), (1.0, LandingBegan(limit="requests", used=0.9)))
    found = account([*facts, *told((2.0, drawn(9, 0, 2.0)))])
    assert found is not None

    spent = Amounts(requests=9, cost=Decimal("0.1"), tokens=7, seconds=2.0)
    assert BudgetReport(limits=LIMITS, spent=spent, near="cost") == found.report


def test_without_limits_there_is_no_account() -> None:
    """But with limits of a plan inside the run's there is one, of which nothing is told."""
    inner = Plan(goal="g", steps=[Step(id="a", task="t")], limits=PlanLimits(max_requests=2))
    found = account(told((0.0, started(UNLIMITED, Plan(goal="g", steps=[PlanStep(id="in", plan=inner)])))))

    assert account([]) is None
    assert account(told((0.0, started(UNLIMITED)))) is None
    assert found is not None
    assert found.report is None
