"""The journal cut after every Fact of a run with steps inside steps, conditions, approvals there, and a step that is retried."""

import pytest

from orchestrator import MemoryJournal
from planner import ApprovalStep, Draft, Input, MapStep, Plan, PlanStep, Step, ToolStep
from registry.testing import asks_many
from tests.scenario import Life, World
from tests.scenarios.plans import Scenario
from tests.scenarios.script import Pace, Script
from tests.test_resume import test_cut_after_every_fact as cut_after

pytestmark = pytest.mark.anyio

SHIPS = ("Ada", "Bo", "Cy")

ONE_SHIP = Draft(
    goal="See one ship off",
    inputs={"ship": Input()},
    steps=(
        Step(id="look", task="Inspect the ${inputs.ship}"),
        ApprovalStep(id="ok", question="Shall the ${inputs.ship} sail?", depends_on="look", when="${inputs.ship} == 'Bo'"),
        ToolStep(id="tell", tool="post", args={"letter": "to the ${inputs.ship}"}, depends_on=("look", "ok")),
    ),
    output="${steps.tell.output}",
)

FLEET = Scenario(
    name="fleet",
    goal=Plan(
        goal="See the fleet off",
        steps=(
            MapStep(id="ships", over=SHIPS, width=2, step=PlanStep(id="one", args={"ship": "${item}"}, plan=ONE_SHIP)),
            Step(id="report", task="Report", depends_on="ships", retries=1, verify={"holds": "'earlier try' in ${output}"}),
        ),
        output="${steps.report.output}",
    ),
    facts=63,
    pace=Pace(seconds={f"ships[{place}]/look": 0.3 + place / 10 for place in range(len(SHIPS))}),
    script=Script(
        tasks={
            **{
                f"Inspect the {ship}": [asks_many(("measure", {"harbour": ship}), ("log", {"line": f"smudged {ship}"})), "{seen}"]
                for ship in SHIPS
            },
            "Report": ["All are off: {read}"],
        },
    ),
)


async def test_the_whole_run() -> None:
    """It meets its goal, in as many Facts as the cuts below are made after."""
    whole = await Life.of(World(FLEET), MemoryJournal())
    kinds = [recorded.event.kind for recorded in whole.facts]

    assert "achieved" == whole.answer.outcome
    assert FLEET.facts == len(whole.facts)
    assert {1} == {kinds.count("step_retried"), kinds.count("answered")}
    assert "posted: to the Bo" in whole.answer.output


@pytest.mark.parametrize("length", range(1, FLEET.facts + 1))
async def test_cut_inside(length: int) -> None:
    """Whatever was written is not done again, what was not is done once, and the answer is the same to the letter."""
    await cut_after(FLEET, length)
