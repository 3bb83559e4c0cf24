"""Tries at one step: with what they were told, on the next model, counted, and read back when a run is resumed."""

import anyio
import pytest

from orchestrator.events.recorded import Event
from orchestrator.executor import DAGExecutor, Settled
from orchestrator.ledger import Ledger, private_ledger
from orchestrator.state import RunState
from orchestrator.trying import Tries
from planner import AnyStep, Plan, Step, ToolStep
from planner.results import Failed, StepResult, Succeeded
from registry.calls import Call
from registry.errors import Unreachable
from registry.messages import Reply, Request
from registry.models.registry import ModelRegistry
from registry.testing import Line, ScriptedModel
from registry.tools.function import tool

pytestmark = pytest.mark.anyio

CHECK = {"holds": "${output} == 'good'"}


def failing(error: str = "NotVerified") -> Failed:
    return Failed(step="a", error=error, message="no", output="bad", iterations=1)


async def one(
    step: AnyStep, models: ModelRegistry | ScriptedModel, *, ledger: Ledger | None = None, attempt: int = 1
) -> StepResult:
    executor = DAGExecutor(models, [], ledger=ledger)
    plan = Plan(goal="test", steps=[step])
    walked = await executor.walk(plan)
    for number in range(1, attempt):
        assert isinstance(walked, Settled)
        walked = await executor.walk(plan, attempts=dict.fromkeys(walked.unfinished, 1 + number))
    assert isinstance(walked, Settled)
    return walked.results["a"]


def asked(model: ScriptedModel) -> list[str]:
    return [request.messages[-1].text for request in model.requests]


async def test_the_next_try_is_told_why() -> None:
    """It reads what was wrong, and what the one before had said; all that was spent counts."""
    with ScriptedModel(["bad", "good"]) as model:
        found = await one(Step(id="a", task="x", retries=1, verify=CHECK), model)

    assert isinstance(found, Succeeded)
    assert ("good", 2, 2) == (found.output, found.usage.requests, found.iterations)
    assert "the output did not pass the check: it does not hold that ${output} == 'good'" in asked(model)[1]
    assert asked(model)[1].endswith("Its result was:\nbad")
    assert "earlier try" not in asked(model)[0]


async def test_models_take_over_in_turn() -> None:
    """When all tries of one have failed the next one of `escalate` goes on, with what was learnt."""
    models = {name: ScriptedModel([name] * 2, name=name) for name in ("fast", "general")} | {
        "reasoning": ScriptedModel(["good"], name="reasoning")
    }
    step = Step(id="a", task="x", retries=1, verify=CHECK, escalate=["fast", "general", "reasoning"])
    found = await one(step, ModelRegistry(models))

    assert isinstance(found, Succeeded)
    assert ("good", "reasoning", 5) == (found.output, found.model, found.usage.requests)
    assert [2, 2, 1] == [len(model.requests) for model in models.values()]
    assert asked(models["reasoning"])[0].endswith("Its result was:\ngeneral")


async def test_when_nobody_is_left_the_step_has_failed() -> None:
    """With the reason of the last try, what it said, and what all of them cost."""
    with ScriptedModel(["bad", "worse"]) as model:
        found = await one(Step(id="a", task="x", retries=1, verify=CHECK), model)

    assert isinstance(found, Failed)
    assert ("NotVerified", "worse", 2) == (found.error, found.output, found.usage.requests)


async def test_an_outage_is_tried_again_without_a_word() -> None:
    """There is nothing to learn from it: the next try is asked just the same."""
    with ScriptedModel([Unreachable("x", "down"), "good"]) as model:
        found = await one(Step(id="a", task="x", retries=1), model)

    assert isinstance(found, Succeeded)
    assert asked(model)[0] == asked(model)[1]


async def test_a_tool_step_is_tried_again_where_that_does_no_harm() -> None:
    """A pure call is made anew. An effect is not: what came of it is known."""
    calls: list[str] = []

    @tool(effect="pure")
    async def look() -> str:
        """Fail at first."""
        calls.append("look")
        if len(calls) < 3:
            raise ValueError("not yet")
        return "seen"

    @tool
    async def send() -> str:
        """Fail."""
        calls.append("send")
        raise ValueError("no")

    plan = Plan(
        goal="test", steps=[ToolStep(id="a", tool="look", retries=2), ToolStep(id="b", tool="send", retries=2, depends_on="a")]
    )
    walked = await DAGExecutor(ScriptedModel([]), [look, send]).walk(plan)

    assert isinstance(walked, Settled)
    assert (Succeeded, Failed) == tuple(type(end) for end in walked.results.values())
    assert ["look", "look", "look", "send"] == calls


async def test_no_try_begins_when_the_time_is_up() -> None:
    """The step has its time for all tries together."""

    class Slow(ScriptedModel):
        async def chat(self, request: Request, call: Call) -> Reply:
            await anyio.sleep(4)
            return await super().chat(request, call)

    model = Slow(["bad"] * 5)
    found = await one(Step(id="a", task="x", retries=9, verify=CHECK, timeout=6), model)

    assert isinstance(found, Failed)
    assert 2 >= len(model.requests)


@pytest.mark.parametrize("cut", range(2, 9))
async def test_tries_are_read_back(cut: int) -> None:
    """A walk that was cut anywhere goes on with the try that it was at, and no reply is paid for twice."""

    def line(request: Request) -> Line:
        told = request.messages[-1].text
        return "good" if told.endswith("second") else "second" if told.endswith("first") else "first"

    step = Step(id="a", task="x", retries=3, verify=CHECK)
    whole, resumed = await private_ledger(), await private_ledger()
    await one(step, ScriptedModel(line), ledger=whole)
    facts = list(whole.facts)
    assert ["step_retried"] * 2 == [each.event.kind for each in facts if each.event.kind == "step_retried"]
    for recorded in facts[:cut]:
        await resumed.record(recorded.event)
    model = ScriptedModel(line)
    found = await one(step, model, ledger=resumed)

    assert isinstance(found, Succeeded)
    assert ("good", 3) == (found.output, found.usage.requests)
    assert 3 - sum(each.event.kind == "model_replied" for each in facts[:cut]) == len(model.requests)
    assert [told(each.event) for each in facts] == [told(each.event) for each in resumed.facts]


def told(fact: Event) -> tuple[str, str]:
    return fact.kind, getattr(fact, "key", "") or getattr(fact, "scope", "")


async def test_another_attempt_has_tries_of_its_own() -> None:
    """A revised plan that tries a step anew asks anew, however many tries there were before."""
    ledger = await private_ledger()
    with ScriptedModel(["bad"] * 3 + ["good"]) as model:
        found = await one(Step(id="a", task="x", retries=1, verify=CHECK), model, ledger=ledger, attempt=2)

    assert isinstance(found, Succeeded)
    assert 4 == len({each.event.key for each in ledger.facts if each.event.kind == "model_replied"})


@pytest.mark.parametrize(
    ("error", "retries", "before", "another"),
    [
        pytest.param("NotVerified", 1, 0, True, id="a retry is left"),
        pytest.param("NotVerified", 1, 1, False, id="none is left"),
        pytest.param("NotVerified", 0, 0, False, id="there is none"),
        pytest.param("IterationsExhausted", 1, 0, True, id="no conclusion"),
        pytest.param("Rejected", 1, 0, False, id="a person said no"),
        pytest.param("DeniedByHook", 1, 0, False, id="a policy said no"),
        pytest.param("StepTimedOut", 1, 0, False, id="no time"),
        pytest.param("BrokenReference", 1, 0, False, id="what it needs is not there"),
    ],
)
def test_which_end_another_try_follows(error: str, retries: int, before: int, another: bool) -> None:
    """Only one that another try might change, and only so often."""
    tries = Tries(step=Step(id="a", task="x", retries=retries), before=(failing(),) * before, first=1)

    assert another is tries.another_after(failing(error))
    assert not tries.another_after(Succeeded(step="a", output=""))


def test_no_two_tries_share_a_number() -> None:
    """Whatever attempts they belong to."""
    state = RunState(retried={("s", 1): [failing(), failing()], ("s", 3): [failing()]})
    numbers = [Tries.of(Step(id="a", task="x"), state, "s", attempt).number for attempt in (1, 2, 3, 4)]

    assert [3, 4, 6, 7] == numbers
