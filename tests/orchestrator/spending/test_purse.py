"""Runs with limits: what they keep to, how they land, and what they say of it."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from orchestrator import Answer, Limits, MemoryJournal, Orchestrator
from orchestrator.errors import BudgetExhausted
from orchestrator.events.facts import ModelReplied, StepEnded
from orchestrator.events.figures import BudgetReport
from orchestrator.events.recorded import Recorded
from orchestrator.events.spending import BudgetDrawn, LandingBegan, ModelChosen
from orchestrator.prompts import LAST_WORD, SYNTHESIS
from planner import MapStep, Plan, PlanStep, Step, ToolStep
from planner.plan import PlanLimits
from planner.results import Failed, Missing, Skipped, Succeeded
from registry.budget import Amounts
from registry.errors import ConfigurationError, Unreachable
from registry.governor.budgeted import BudgetedModel
from registry.messages import Reply, Request
from registry.models.model import Model
from registry.models.priced import PricedModel
from registry.models.prices import Price
from registry.models.registry import ModelRegistry
from registry.testing import Delay, FaultyModel, Line, ScriptedModel, asks, says
from registry.tools.function import tool
from registry.usage import Usage
from tests.scenario import journal_of, ports

pytestmark = pytest.mark.anyio

MET = {"achieved": True, "confidence": 0.9, "reasoning": "yes", "missing": [], "final_answer": "All is well."}
MISSED = {**MET, "achieved": False, "missing": ["the rest"], "final_answer": ""}


@tool(effect="pure")
async def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is green"


def script(request: Request) -> Line:
    """A model whose agents look as often as their task says, and then have an answer."""
    match [spec.name for spec in request.tools]:
        case ["plan"]:
            return asks("plan", steps=[{"id": "a", "task": "looks 1"}, {"id": "b", "task": "looks 1"}])
        case ["verdict"]:
            return asks("verdict", **MISSED)
        case _ if request.messages[0].text == SYNTHESIS:
            return "The answer."
        case _ if any(message.text == LAST_WORD for message in request.messages):
            return "It looks green."
        case _:
            laps = sum(message.role == "assistant" for message in request.messages)
            task = next(message.text for message in request.messages if message.role == "user")
            return asks("look", place=f"lap {laps}") if laps < int(task.split()[1]) else f"done {task}"


def chain(*looks: int, optional: Sequence[int] = ()) -> Plan:
    """Steps one after another, each with so many looks before its answer."""
    before = [(), *((f"s{number}",) for number in range(len(looks)))]
    steps = [
        Step(
            id=f"s{number}", task=f"looks {often}", depends_on=before[number], optional=number in optional, on_failure="continue"
        )
        for number, often in enumerate(looks)
    ]
    return Plan(goal="g", steps=steps)


async def run(
    goal: str | Plan, model: Model | ModelRegistry, journal: MemoryJournal | None = None, *, money: bool = False, **limits: Any
) -> Answer:
    journal = journal or MemoryJournal()
    orchestrator = Orchestrator(
        model,
        tools=[look],
        limits=Limits(**limits),
        unpriced="refuse" if money else "allow",
        journal=journal,
        ports=ports(),
    )
    return await orchestrator.run(goal)


def reported(answer: Answer) -> BudgetReport:
    """What the run says of its budget."""
    return answer.summary.budget


async def facts_of(goal: str | Plan, model: Model | ModelRegistry, **limits: Any) -> tuple[Recorded, ...]:
    journal = MemoryJournal()
    answer = await run(goal, model, journal, **limits)
    return await journal.read(answer.run_id)


async def test_a_run_within_its_limits_says_what_it_spent() -> None:
    """And nothing else about it is different."""
    free, bound = ScriptedModel(script), ScriptedModel(script)
    one, other = await run(chain(1, 1), free), await run(chain(1, 1), bound, max_requests=50)

    assert (one.output, one.steps.keys(), free.requests) == (other.output, other.steps.keys(), bound.requests)
    assert one.summary.budget is None
    budget = reported(other)
    assert (Amounts(requests=50), len(bound.requests), 5, None) == (
        budget.limits,
        budget.spent.requests,
        other.usage.requests,
        budget.near,
    )


@pytest.mark.parametrize("requests", range(1, 12))
async def test_requests_are_exact(requests: int) -> None:
    """However few they are, there is never one more, and there is an answer that says what is missing."""
    model = ScriptedModel(script)
    answer = await run(chain(2, 2, 2, 2), model, max_requests=requests)

    assert requests - 1 <= len(model.requests) <= requests
    assert "missing" == answer.outcome
    assert answer.output
    assert answer.missing
    assert len(model.requests) == reported(answer).spent.requests


async def test_an_agent_comes_to_its_last_word() -> None:
    """Its last request asks for that, without tools: the step has failed, and what it says is part of the answer."""
    model = ScriptedModel(script)
    answer = await run(chain(9), model, max_requests=5)
    end = answer.steps["s0"]

    assert isinstance(end, Failed)
    assert ("BudgetExhausted", "the run has used up its requests", "exhausted") == (end.error, end.message, end.outcome)
    assert "It looks green." == end.output
    assert [LAST_WORD in [message.text for message in request.messages] for request in model.requests] == [False] * 3 + [
        True,
        False,
    ]


async def test_what_was_found_outlives_the_budget() -> None:
    """An agent without a last word leaves what its tools found, and the synthesis reads it."""
    plan = Plan(goal="g", steps=[Step(id=name, task=f"looks 3 {name}") for name in "ab"])
    model = ScriptedModel(script)
    answer = await run(plan, FaultyModel(model, [Delay(1)] * 3), max_requests=4)
    said = [getattr(end, "output", "") for end in answer.steps.values()]

    assert "It looks green." in said
    assert any("look found: lap 0 is green" in each for each in said)
    assert "look found: lap 0 is green" in model.requests[-1].messages[-1].text


async def test_optional_steps_are_left_out() -> None:
    """Near the limit they are skipped, with the reason, and what waits for them starts all the same."""
    answer = await run(chain(3, 3, 0, 0, optional=[2]), ScriptedModel(script), max_requests=12)
    skipped = answer.steps["s2"]

    assert isinstance(skipped, Skipped)
    assert "it is optional, and the run has spent 80% of its requests" == skipped.reason
    assert isinstance(answer.steps["s3"], Succeeded)
    assert "achieved" == answer.outcome
    assert "requests" == reported(answer).near


async def test_nothing_new_begins_when_nothing_is_left() -> None:
    """But what asks no model, for that costs nothing."""
    plan = Plan(
        goal="g",
        steps=[
            Step(id="a", task="looks 1"),
            Step(id="b", task="looks 0", depends_on=["a"]),
            Step(id="d", task="looks 0", depends_on=["b"]),
            ToolStep(id="c", tool="look", args={"place": "x"}, depends_on=["b"]),
        ],
    )
    answer = await run(plan, ScriptedModel(script), max_requests=4)

    assert isinstance(answer.steps["a"], Succeeded)
    assert isinstance(answer.steps["c"], Succeeded)
    assert "the run has used up its requests" == getattr(answer.steps["d"], "reason", "")
    assert ("d skipped: the run has used up its requests",) == answer.missing


async def test_landing_is_told_once() -> None:
    """As soon as the books show it."""
    facts = await facts_of(chain(3, 3, 3), ScriptedModel(script), max_requests=12)
    landed = [place for place, each in enumerate(facts) if isinstance(each.event, LandingBegan)]
    before = [each.event for each in facts[: landed[0]] if isinstance(each.event, BudgetDrawn)]

    assert 1 == len(landed)
    assert 8 == before[-1].spent.requests + before[-1].held.requests


@pytest.mark.parametrize(
    ("goal", "requests", "near"),
    [
        pytest.param(chain(3, 3), 13, None, id="the answer takes the rest"),
        pytest.param(chain(3, 3), 12, "requests", id="the steps took it"),
        pytest.param("goal", 10, None, id="verdict and answer take the rest"),
    ],
)
async def test_only_what_steps_take_makes_a_run_land(goal: str | Plan, requests: int, near: str | None) -> None:
    """What is kept for its end is there to be used."""
    answer = await run(goal, ScriptedModel(script), max_requests=requests, rounds=1)

    assert near == reported(answer).near


def priced(name: str, dollars: int, lines: Callable[[Request], Line] = script) -> Model:
    tariff = Price(input=Decimal(dollars), output=Decimal(dollars)).tariff()
    return BudgetedModel(PricedModel(ScriptedModel(lines, name=name), lambda *_: tariff, now=ports().now), lambda: tariff)


async def test_a_cheaper_model_near_the_end() -> None:
    """For the steps that begin then; one that has begun keeps the model that it has."""
    models = ModelRegistry([priced("dear", 10), priced("cheap", 1)])
    facts = await facts_of(chain(3, 5, 0), models, max_requests=14)
    who = [each.event.reply.usage.cost for each in facts if isinstance(each.event, ModelReplied) and each.event.purpose == "step"]
    ends = [each.event.result for each in facts if isinstance(each.event, StepEnded)]

    assert ["dear", "dear", "cheap"] == [getattr(end, "model", "") for end in ends]
    assert [("s2", "cheap")] == [(each.event.step, each.event.model) for each in facts if isinstance(each.event, ModelChosen)]
    assert [Decimal("0.00015")] * 10 + [Decimal("0.000015")] == who


def wordy(request: Request) -> Line:
    """Whatever it is asked, it says half as much as it may."""
    line = script(request)
    reply = line if isinstance(line, Reply) else says(str(line))
    usage = Usage(requests=1, input_tokens=50, output_tokens=(request.max_tokens or 0) // 2)
    return replace(reply, usage=usage)


async def test_money() -> None:
    """A run costs no more than it may, and lands in time for an answer."""
    answer = await run(chain(9, 9, 9), priced("m", 10, wordy), money=True, max_cost=Decimal("0.5"))
    budget = reported(answer)
    assert budget.spent.cost is not None

    assert Decimal("0.35") < budget.spent.cost == answer.usage.cost <= Decimal("0.5")
    assert ("cost", "missing") == (budget.near, answer.outcome)
    assert "The answer." == answer.output


async def test_a_request_that_nothing_is_left_for() -> None:
    """It may come long before the limit, where requests are dear. The run lands then, and says for which limit."""
    model = priced("m", 1_000)
    answer = await run(chain(9, 9), model, money=True, max_cost=Decimal("0.5"))

    assert "cost" == reported(answer).near
    assert "the run has used up its dollars" == getattr(answer.steps["s0"], "message", "")
    assert len(answer.missing) == 2


async def test_money_without_prices_is_refused_before_the_run() -> None:
    """Nothing is written down, and nobody was asked. In Python, too, one can allow it."""
    model, journal = ScriptedModel(script), MemoryJournal()
    with pytest.raises(ConfigurationError, match="nobody knows what scripted charges"):
        await run(chain(0), model, journal, money=True, max_cost=Decimal(1))

    assert ([], ()) == (model.requests, await journal.runs())
    assert "achieved" == (await run(chain(0), model, max_cost=Decimal(1))).outcome


async def test_tokens() -> None:
    """What replies take is what counts; there is enough left for an answer."""
    answer = await run(chain(14, 14), ScriptedModel(script), max_tokens=9_000)
    budget = reported(answer)

    assert budget.spent.tokens == answer.usage.tokens
    assert 0 < answer.usage.tokens <= 9_000
    assert "The answer." == answer.output


async def test_a_goal_that_nobody_could_judge_is_not_met() -> None:
    """Where nothing is left for a judge who is hard to understand, the steps are counted, and the lack of a verdict is told."""
    model = ScriptedModel(lambda request: "no JSON" if "You judge" in request.messages[0].text else script(request))
    answer = await run("goal", model, max_requests=8, rounds=1)

    assert isinstance(answer.verdict, Missing)
    assert "a verdict: the run has used up its requests" in answer.missing
    assert "The answer." == answer.output


async def test_without_a_plan_there_is_no_run() -> None:
    """The one thing that ends without an answer: there was not even enough for the plan."""
    with pytest.raises(BudgetExhausted, match="the run has used up its tokens"):
        await run("goal", ScriptedModel(script), max_tokens=300)


@pytest.mark.parametrize(("requests", "plans"), [pytest.param(40, 3, id="enough"), pytest.param(10, 1, id="landing")])
async def test_no_other_plan_is_made_near_the_end(requests: int, plans: int) -> None:
    """The answer is made from what there is."""
    asked: list[str] = []

    def counts(request: Request) -> Line:
        if [each.name for each in request.tools] == ["plan"]:
            asked.append("plan")
            return asks("plan", steps=[{"id": f"n{len(asked)}", "task": f"looks {4 - len(asked)}"}])
        return script(request)

    answer = await run("goal", ScriptedModel(counts), max_requests=requests)

    assert plans == len(asked)
    assert "missing" == answer.outcome
    assert "the rest" in answer.missing


async def test_time() -> None:
    """The steps end before the run does, so that the answer comes in time."""
    slow = FaultyModel(ScriptedModel(script), [Delay(3)] * 20)
    began = anyio.current_time()
    answer = await run(chain(9, 9), slow, max_seconds=20.0)
    ends = [getattr(end, "error", "") for end in answer.steps.values()]

    assert anyio.current_time() - began <= 20.0
    assert "The answer." == answer.output
    assert ("BudgetExhausted", "the run has used up its seconds") == (ends[0], getattr(answer.steps["s0"], "message", ""))
    assert "the run has used up its seconds" == getattr(answer.steps["s1"], "reason", "")
    assert "seconds" == reported(answer).near


async def test_a_request_that_time_cuts_off() -> None:
    """Whatever its step has found by then is kept."""
    slow = FaultyModel(ScriptedModel(script), [None, Delay(99)])
    answer = await run(chain(9), slow, max_seconds=10.0)
    end = answer.steps["s0"]

    assert isinstance(end, Failed)
    assert ("BudgetExhausted", "the run has used up its seconds") == (end.error, end.message)
    assert "look found: lap 0 is green" in end.output


INSIDE = Plan(
    goal="in",
    steps=[
        Step(id="a", task="looks 0"),
        Step(id="b", task="looks 0", depends_on=["a"]),
        Step(id="c", task="looks 0", depends_on=["b"]),
    ],
    limits=PlanLimits(max_requests=2),
)


async def test_a_plan_inside_has_limits_of_its_own() -> None:
    """They hold within the run's, also where that has none, and each item of a map has them for itself."""
    plan = Plan(
        goal="g", steps=[PlanStep(id="in", plan=INSIDE), MapStep(id="m", over=[1, 2], step=PlanStep(id="each", plan=INSIDE))]
    )
    model = ScriptedModel(script)
    answer = await run(plan, model)

    assert 3 * 2 + 1 == len(model.requests)
    assert "in failed: c skipped: step 'in' has used up its requests" in answer.missing
    assert answer.summary.budget is None


async def test_the_limits_of_a_plan_are_the_runs() -> None:
    """Of both the smaller one holds."""
    model = ScriptedModel(script)
    plan = chain(9).model_copy(update={"limits": PlanLimits(max_requests=4, max_tokens=10**6)})
    answer = await run(plan, model, max_requests=90, max_tokens=10**5)

    assert 4 == len(model.requests)
    assert Amounts(requests=4, tokens=10**5) == reported(answer).limits


async def cut(
    facts: tuple[Recorded, ...], place: int, resumed: Callable[[Model, MemoryJournal], Orchestrator]
) -> tuple[int, Answer]:
    """The requests that had left by this Fact and that leave afterwards, in a process that knows only the Facts before it."""
    model = ScriptedModel(script)
    journal = await journal_of("run1", facts[:place])
    answer = await resumed(model, journal).resume("run1")
    left = sum(isinstance(each.event, BudgetDrawn) and bool(each.event.held.requests) for each in facts[:place])
    return left + len(model.requests), answer


async def test_limits_hold_for_all_lives() -> None:
    """Cut after any Fact, a run goes on with what it has left, whatever limits the process has that takes it up again."""
    facts = await facts_of(chain(2, 2, 2), ScriptedModel(script), max_requests=8)

    def resumed(model: Model, journal: MemoryJournal) -> Orchestrator:
        return Orchestrator(model, tools=[look], limits=Limits(max_requests=99), journal=journal, ports=ports())

    for place in range(1, len(facts)):
        sent, answer = await cut(facts, place, resumed)
        assert 7 <= sent <= 8
        assert answer.output
        assert answer.missing
        assert (8, "requests") == (reported(answer).limits.requests, reported(answer).near)
        assert sent <= (reported(answer).spent.requests or 0) <= 8


async def test_requests_that_never_left_come_back() -> None:
    """An endpoint that can't be reached was not asked."""
    model = FaultyModel(ScriptedModel(script), [Unreachable("m", "down"), None])
    answer = await run(Plan(goal="g", steps=[Step(id="a", task="looks 0", retries=1)]), model, max_requests=3)

    assert "achieved" == answer.outcome
    assert 2 == reported(answer).spent.requests


async def test_a_reply_without_usage_counts_as_was_estimated() -> None:
    """And that is told."""
    model = ScriptedModel([Reply(text="x", usage=Reply(text="").usage), "The answer."])
    answer = await run(chain(0), model, max_tokens=50_000)

    assert answer.usage.tokens <= (reported(answer).spent.tokens or 0)
