"""How many tool calls a step may make."""

import pytest

from orchestrator.executor import DAGExecutor, Settled
from orchestrator.ledger import private_ledger
from planner import Plan, PlanLimits, Step
from registry.messages import Request
from registry.testing import Line, ScriptedModel, asks_many
from registry.tools.function import tool

pytestmark = pytest.mark.anyio


@tool(effect="pure")
async def look(at: int) -> str:
    """Look at something."""
    return f"seen {at}"


def looking(request: Request) -> Line:
    """Looks at three things at once, and then says what came of that."""
    seen = [message.text for message in request.messages if message.role == "tool"]
    return "; ".join(seen) if seen else asks_many(*(("look", {"at": at}) for at in (1, 2, 3)))


@pytest.mark.parametrize(
    ("own", "of_the_plan", "ran"),
    [
        pytest.param(None, None, 3, id="no limit"),
        pytest.param(2, None, 2, id="the step's"),
        pytest.param(None, 1, 1, id="the plan's"),
        pytest.param(3, 1, 3, id="the step's comes first"),
        pytest.param(0, None, 0, id="none at all"),
    ],
)
@pytest.mark.parametrize("cut", [None, 3, 5, 6, 7])
async def test_only_so_many_calls_run(own: int | None, of_the_plan: int | None, ran: int, cut: int | None) -> None:
    """The first of them, in the order in which they were asked for; a resumed step does not get more."""
    step, limits = Step(id="a", task="x", max_calls=own), PlanLimits(max_calls=of_the_plan)
    plan, ledger = Plan(goal="test", steps=[step], limits=limits), await private_ledger()
    await DAGExecutor(ScriptedModel(looking), [look], ledger=ledger).walk(plan)
    if cut is not None:
        facts, ledger = [recorded.event for recorded in ledger.facts][:cut], await private_ledger()
        for fact in facts:
            await ledger.record(fact)
    walked = await DAGExecutor(ScriptedModel(looking), [look], ledger=ledger).walk(plan)

    assert isinstance(walked, Settled)
    said = walked.results["a"].output.split("; ")
    assert [f"seen {at}" for at in range(1, ran + 1)] == said[:ran]
    assert all("this step may make" in each for each in said[ran:])
    assert 3 == len(said)
