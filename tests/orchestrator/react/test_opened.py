"""An agent's run to follow while it goes on."""

import anyio
import pytest

from orchestrator.agent import AgentRun, ReActAgent
from orchestrator.errors import RunError
from orchestrator.events.facts import InterruptReceived, ToolEnded
from registry.messages import Request
from registry.testing import Line, ScriptedModel, asks
from registry.tools.function import tool

pytestmark = pytest.mark.anyio


@tool(effect="pure")
async def doze(seconds: float) -> str:
    """Wait a while."""
    await anyio.sleep(seconds)
    return f"slept {seconds}"


async def test_its_events_can_be_followed() -> None:
    """Every event as it happens, to the end of the run; then there is the result."""
    with ScriptedModel([asks("doze", seconds=1), "rested"]) as model:
        async with ReActAgent(model, [doze]).open("rest") as run:
            kinds = [recorded.event.kind async for recorded in run.events]
            result = await run.result()

    lap = ["thinking_began", "model_replied"]
    assert [*lap, "tool_started", "tool_ended", *lap, "concluding"] == kinds
    assert ("completed", "rested") == (result.outcome, result.answer)


async def test_it_can_be_spoken_to() -> None:
    """A message is an event, and the agent hears it; one that comes too late is not lost."""
    with ScriptedModel([asks("doze", seconds=5), "I hurry"]) as model:
        async with ReActAgent(model, [doze]).open("rest") as run:
            async for recorded in run.events:
                if recorded.event.kind == "tool_started":
                    await run.interrupt("hurry")
            result = await run.result()
            told = [recorded.event async for recorded in run.events]

    assert InterruptReceived(text="hurry") in told
    assert "[USER INTERRUPT]\nhurry" == model.requests[1].messages[-1].text
    assert () == result.unanswered


async def test_leaving_ends_it() -> None:
    """Nothing goes on behind the block, and there is no result."""
    began = anyio.current_time()
    with ScriptedModel([asks("doze", seconds=1_000)]) as model:
        async with ReActAgent(model, [doze]).open("rest") as run:
            async for recorded in run.events:
                if recorded.event.kind == "tool_started":
                    break

    assert anyio.current_time() - began < 10
    assert not any([isinstance(recorded.event, ToolEnded) async for recorded in run.events])
    with pytest.raises(RunError, match="left before its end"):
        await run.result()


async def test_a_bug_comes_out() -> None:
    """Who waits for the result hears of it as itself, and so does the block."""

    def script(request: Request) -> Line:
        raise KeyError("a bug")

    lent: list[AgentRun] = []

    async def lend() -> None:
        async with ReActAgent(ScriptedModel(script)).open("go") as run:
            lent.append(run)
            await run.result()

    with pytest.raises(KeyError, match="a bug"):
        await lend()
    with pytest.raises(KeyError, match="a bug"):
        await lent[0].result()


async def test_many_runs_of_one_agent_at_once() -> None:
    """Each has its own events, messages and result; nothing of one is in another."""

    def script(request: Request) -> Line:
        goal = request.messages[1].text
        return f"{goal} done" if len(request.messages) > 2 else asks("doze", seconds=float(goal))

    agent, said = ReActAgent(ScriptedModel(script), [doze]), dict[str, tuple[str, int]]()

    async def one(goal: str) -> None:
        async with agent.open(goal) as run:
            await run.interrupt(f"for {goal}")
            events = [recorded async for recorded in run.events]
            result = await run.result()
        assert f"[USER INTERRUPT]\nfor {goal}" in [message.text for message in result.transcript]
        said[goal] = (result.answer, len(events))

    async with anyio.create_task_group() as group:
        for goal in "123":
            group.start_soon(one, goal)

    assert {"1": "1 done", "2": "2 done", "3": "3 done"} == {goal: text for goal, (text, _) in said.items()}
    assert 1 == len({count for _, count in said.values()})
