"""Plans without a run."""

import pytest

from registry.errors import Unreachable
from tests.orchestrator.parts import played
from tests.orchestrator.server.driving import served, service_of
from tests.orchestrator.server.routes.test_runs import PLAN, slug

pytestmark = pytest.mark.anyio


async def test_a_sound_plan() -> None:
    """Is said to be so, with what is odd in it."""
    async with served() as caller:
        answer = await caller.post("/v1/plans/check", {"plan": PLAN})

    assert (200, True, 2) == (answer.status, answer.json["ok"], answer.json["steps"])
    assert {"warning"} >= {each["severity"] for each in answer.json["diagnostics"]}


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        pytest.param({"goal": "g", "steps": []}, "P001", id="no steps"),
        pytest.param("goal: [", "P014", id="unreadable"),
        pytest.param({"goal": "g", "steps": [{"id": "a", "task": "t", "model_hint": "huge"}]}, "P009", id="no such model here"),
    ],
)
async def test_a_wrong_plan(plan: object, code: str) -> None:
    """Is no error of the request: it asked for the findings."""
    async with served() as caller:
        answer = await caller.post("/v1/plans/check", {"plan": plan})

    assert (200, False) == (answer.status, answer.json["ok"])
    assert code in [each["code"] for each in answer.json["diagnostics"]]


async def test_a_drafted_plan_can_be_run() -> None:
    """It is told with what it cost, and nothing was done."""
    async with served() as caller:
        drafted = (await caller.post("/v1/plans/draft", {"goal": "Compare"})).json
        checked = (await caller.post("/v1/plans/check", {"plan": drafted["plan"]})).json
        runs = (await caller.get("/v1/runs")).json["runs"]

    assert ["north", "south"] == [step["id"] for step in drafted["plan"]["steps"]]
    assert (1, True, []) == (drafted["usage"]["requests"], checked["ok"], runs)


async def test_a_model_that_can_not_be_asked() -> None:
    """Is not the client's fault, and no plan is made up."""
    async with served(service_of(played(plan=lambda _: Unreachable("m", "gone")))) as caller:
        assert (502, "model-failed") == slug(await caller.post("/v1/plans/draft", {"goal": "Compare"}))
