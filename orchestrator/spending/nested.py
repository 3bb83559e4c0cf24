"""Limits of plans inside a plan, and what was spent in them."""

from collections.abc import Iterable, Iterator

from orchestrator.events.facts import ModelFailed, ModelReplied
from orchestrator.events.recorded import Recorded
from orchestrator.events.spending import BudgetDrawn
from planner import AnyStep, Draft, MapStep, PlanStep
from registry.budget import Amounts
from registry.usage import Usage


def limits_inside(plan: Draft) -> Iterator[Amounts]:
    """The limits of each plan inside this one that has any, however deep it is."""
    for step in plan.steps:
        yield from _limits(step)


def spent_inside(facts: Iterable[Recorded], step: str) -> Usage:
    """What the parts of a step have spent in earlier lives of the run. A request that nobody heard of again counts, too."""
    spent, left = Usage(), 0
    for recorded in facts:
        match recorded.event:
            case ModelReplied(step=part, reply=reply) if part.startswith(f"{step}/"):
                spent += reply.usage
            case ModelFailed(step=part, usage=usage) if part.startswith(f"{step}/"):
                spent += usage
            case BudgetDrawn(step=part) if part.startswith(f"{step}/"):
                left += 1
            case _:
                pass
    lost = max(0, left - spent.requests)
    return spent + Usage(requests=lost, unmetered=lost)


def _limits(step: AnyStep) -> Iterator[Amounts]:
    match step:
        case PlanStep(plan=plan):
            if plan.limits.budget.kinds:
                yield plan.limits.budget
            yield from limits_inside(plan)
        case MapStep(step=inner):
            yield from _limits(inner)
        case _:
            pass
