"""Limits of plans inside plans."""

from orchestrator.events.facts import Fact, ModelFailed, ModelReplied
from orchestrator.events.recorded import Recorded
from orchestrator.events.spending import BudgetDrawn
from orchestrator.spending.nested import limits_inside, spent_inside
from planner import MapStep, Plan, PlanStep, Step
from planner.plan import PlanLimits
from registry.budget import Amounts, Spending
from registry.messages import Reply
from registry.usage import Usage


def plan(*steps: PlanStep | MapStep, **limits: int) -> Plan:
    return Plan(goal="g", steps=steps or [Step(id="a", task="t")], limits=PlanLimits(**limits))


def replied(step: str) -> ModelReplied:
    reply = Reply(text="x", usage=Usage(requests=2, input_tokens=10))
    return ModelReplied(key="k", scope="s", purpose="step", step=step, iteration=1, reply=reply, seconds=1.0)


def failed(step: str) -> ModelFailed:
    usage = Usage(requests=1)
    return ModelFailed(key="k", scope="s", purpose="step", step=step, iteration=1, error="X", message="x", usage=usage)


def drawn(step: str) -> BudgetDrawn:
    return BudgetDrawn(step=step, spent=Spending(), held=Spending(), seconds=0.0)


def test_limits_are_found_however_deep() -> None:
    """Also inside maps; a plan's own are not inside it."""
    deep = plan(PlanStep(id="p", plan=plan(max_tokens=7)), max_requests=5)
    whole = plan(PlanStep(id="q", plan=deep), MapStep(id="m", over=[1], step=PlanStep(id="r", plan=plan(max_requests=2))))

    assert [Amounts(requests=5), Amounts(tokens=7), Amounts(requests=2)] == list(limits_inside(whole))


def test_what_the_parts_have_spent() -> None:
    """Their calls, and requests that left and that nobody heard of again; nothing of other steps."""
    facts: list[Fact] = [drawn("in/a"), drawn("in/a"), drawn("in/b"), drawn("in/c"), drawn("out"), drawn("inn/a")]
    facts += [replied("in/a"), failed("in/b"), replied("out"), failed("inn/a")]
    told = [Recorded(seq=place, time=0.0, run="r", event=fact) for place, fact in enumerate(facts, 1)]

    assert Usage(requests=4, input_tokens=10, unmetered=1) == spent_inside(told, "in")
