"""A run that was recorded once is run again without its model."""

from pathlib import Path

import pytest

from orchestrator import Orchestrator
from registry import RecordedModel
from registry.calls import Call
from registry.messages import Reply, Request
from registry.testing import asks, says
from registry.tools.function import tool
from tests.orchestrator.parts import judged, planned, played
from tests.scenario import ports

pytestmark = pytest.mark.anyio


async def test_a_run_is_replayed_to_the_same_answer(tmp_path: Path) -> None:
    """Plan, tools, verdict and streamed synthesis: the whole run again, without a model behind it."""

    path = tmp_path / "harbours.json"

    @tool(effect="pure")
    async def berths(harbour: str, call: Call) -> str:
        """How many berths a harbour has."""
        return {"north": "12", "south": "30"}[call.label]

    def step(request: Request) -> Reply:
        last = request.messages[-1]
        return says(f"It has {last.text}.") if last.role == "tool" else asks("berths", harbour="this one")

    script = played(plan=[planned("north", "south")], step=step, verdict=[judged(True)], synthesis=["The south is larger."])
    async with RecordedModel(script, path) as model:
        live = await Orchestrator(model, tools=[berths], ports=ports()).run("Which is larger?")

    async with RecordedModel(None, path) as replay:
        again = await Orchestrator(replay, tools=[berths], ports=ports()).run("Which is larger?")

    assert ("achieved", "The south is larger.") == (live.outcome, live.output)
    assert (live.outcome, live.output, live.usage) == (again.outcome, again.output, again.usage)
    assert {"It has 12.", "It has 30."} == {getattr(result, "output", None) for result in again.steps.values()}
