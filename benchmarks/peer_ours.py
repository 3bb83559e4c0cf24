"""dagwright on the shared benchmark harness: events on, memory journal on.

    BENCH=<folder of harness.py> python benchmarks/peer_ours.py --shape chain --n 20 --mode llm --latency-ms 50 --url http://127.0.0.1:8901/v1

A no-op is a pure tool step; an LLM call is an agent step without tools; an agent step makes `--k` tool calls, then answers.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, os.environ["BENCH"])
sys.path.insert(1, str(Path(__file__).parents[1]))
import harness as H  # noqa: N812

from orchestrator.executor import DAGExecutor, Settled
from planner import Plan, Step, ToolStep
from planner.results import Succeeded
from registry.governor.governor import GovernedModel, Governor
from registry.governor.retry import RetryingModel
from registry.http import HttpDoor
from registry.models.registry import ModelRegistry
from registry.openai import OpenAIModel
from registry.tools.function import tool

a = H.args("ours")


@tool(effect="pure")
async def lookup(q: str) -> str:
    """Look an item up."""
    return "found " + q


@tool(effect="pure")
async def nothing() -> str:
    """Do nothing."""
    return "done"


def plan(a) -> Plan:
    def step(i: int, deps: list[int]):
        needs = tuple(f"s{j}" for j in deps)
        if a.mode == "noop":
            return ToolStep(id=f"s{i}", task=f"Step {i}", tool="nothing", depends_on=needs)  # equal steps would be done once
        tools = ("lookup",) if a.mode == "agent" else ()
        return Step(id=f"s{i}", task=H.prompt(a, i), depends_on=needs, tools=tools)

    return Plan(goal="benchmark", steps=tuple(step(i, deps) for i, deps in enumerate(a.deps)))


async def main() -> None:
    door = HttpDoor()
    model = OpenAIModel("mock", model="mock", base_url=a.url, api_key=None, door=door, abilities={"tool_call": True})
    slots = int(os.environ.get("SLOTS", "100000"))
    governed = RetryingModel(GovernedModel(model, Governor(a.url, slots)), jitter=lambda: 0.5)
    executor = DAGExecutor(ModelRegistry(governed), [lookup, nothing])
    if a.warmup:
        await executor.walk(plan(H.warm_args(a)))
    timer = H.Timer(a)
    work = plan(a)
    timer.go()
    walked = await executor.walk(work)
    assert isinstance(walked, Settled)
    timer.done(sum(isinstance(result, Succeeded) for result in walked.results.values()))
    await door.aclose()


H.run_async(main, a)
