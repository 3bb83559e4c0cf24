"""`dagwright forecast`, and caps on what a plan takes."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from orchestrator.cli.asked import read_written, sound
from orchestrator.cli.forecasting import excess, forecast_of
from orchestrator.cli.options import Options
from orchestrator.cli.world import World
from orchestrator.events.facts import StepEnded
from orchestrator.history import scopes_of
from orchestrator.limits import Limits
from orchestrator.settings import JournalSettings, ModelSettings, PriceSettings, Settings
from planner import Draft, Step
from planner.past import Experience
from planner.results import Succeeded
from tests.orchestrator.cli.terminal import ScriptedWorld, greets, plan_file, typed

DEAR = ModelSettings(provider="openai", model="x", price=PriceSettings(input=Decimal(1000), output=Decimal(1000)))
PRICED = Settings(models={"dear": DEAR})
ONE = "goal: g\nsteps: [{id: a, task: t, tools: [], max_iterations: 1}]\noutput: ${steps.a.output}"
DRAFT = Draft(goal="g", steps=[Step(id="a", task="t", tools=[], max_iterations=1)], output="${steps.a.output}")


def test_a_table(tmp_path: Path) -> None:
    """A row for each step, one for all of them, and the critical path; a figure that is sure stands alone."""
    result = typed("forecast", plan_file(tmp_path, ONE), world=ScriptedWorld(greets(), PRICED))

    assert [
        "            calls  tokens               seconds           cost                     seconds from",
        "a           1      200 / 1,500 / 8,000  0.5 / 4.0 / 30.0  $0.2000 / $1.50 / $8.00  default",
        "altogether  1      200 / 1,500 / 8,000  0.5 / 4.0 / 30.0  $0.2000 / $1.50 / $8.00",
        "critical path: a",
        "low / likely / high; what runs side by side counts once in the seconds altogether",
    ] == result.stdout.splitlines()


def test_an_unknown_price_is_not_zero(tmp_path: Path) -> None:
    """Nobody said what the model charges; the same as data."""
    path = plan_file(tmp_path, ONE)
    world = ScriptedWorld(greets(), Settings())

    assert "unknown" in typed("forecast", path, world=world).stdout
    report = json.loads(typed("forecast", path, "--json", world=world).stdout)
    assert (False, None, ["a"]) == (report["priced"], report["steps"]["a"]["cost"], report["critical_path"])
    assert {"low": 200.0, "likely": 1500.0, "high": 8000.0} == report["total"]["tokens"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        pytest.param(Options(), "", id="no caps"),
        pytest.param(Options(max_cost=Decimal("0.2"), max_seconds=0.5), "", id="just within"),
        pytest.param(Options(max_cost=Decimal("0.19")), "it costs at least $0.2000, and --max-cost allows $0.1900", id="money"),
        pytest.param(Options(max_seconds=0.4), "it takes at least 0.5 s, and --max-seconds allows 0.4 s", id="time"),
    ],
)
def test_caps(options: Options, why: str) -> None:
    """Only what is beyond a cap by its lowest figure is refused."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    ahead = forecast_of(DRAFT, PRICED, options, now=now, limits=Limits(), experience=Experience())

    assert why == excess(ahead, options)


def test_a_wrong_plan_has_no_forecast(tmp_path: Path) -> None:
    """It is told what is wrong, and where."""
    result = typed("forecast", plan_file(tmp_path, "goal: g\nsteps: [{id: a}]"))

    assert result.exit_code == 1
    assert "P007 error at /steps/0/task, line 2, column 9" in result.stderr


TIMED = """
goal: g
steps:
  - {id: a, task: t, tools: []}
  - {id: b, task: u, estimate: {seconds: 7}}
  - {id: c, kind: tool, tool: calculator, args: {expression: 1 + 1}}
output: ${steps.a.output}
"""


def knows(folder: Path, *ends: StepEnded) -> ScriptedWorld:
    """A world whose journal is on disk, and knows how long these steps took."""

    async def tell() -> None:
        writer = await world.kept.claim("old", holder="somebody", ttl=60)
        await writer.append(*((end, 0.0) for end in ends))

    file = folder / "journal.db"
    file.touch()
    world = ScriptedWorld(greets(), replace(PRICED, roles={"general": ("dear",)}, journal=JournalSettings(path=file)))
    anyio.run(tell)
    return world


def ran(scope: str, seconds: float, like: str) -> StepEnded:
    return StepEnded(scope=scope, result=Succeeded(step="s", output="", seconds=seconds), like=like)


def test_seconds_say_where_they_come_from(tmp_path: Path) -> None:
    """From the plan, from earlier runs of the same step or of one like it, or from nowhere."""
    path = plan_file(tmp_path, TIMED)
    same = scopes_of(sound(read_written(path)), {})["a"]
    world = knows(tmp_path, ran(same, 3.0, "agent/dear"), ran(same, 5.0, "agent/dear"), ran("step/x", 90.0, "agent/dear"))

    lines = typed("forecast", path, world=world).stdout.splitlines()
    report = json.loads(typed("forecast", path, "--json", world=world).stdout)
    changed = typed("forecast", plan_file(tmp_path, TIMED.replace("task: t", "task: v")), world=world).stdout.splitlines()

    assert [["history", "of", "2"], ["declared"], ["default"]] == [line.split("  ")[-1].split() for line in lines[1:4]]
    assert "3.2 / 4.0 / 4.8" in lines[1]
    assert {"kind": "history", "times": 2} == report["steps"]["a"]["basis"]
    assert "history of 3" in changed[1]


def test_to_look_ahead_leaves_no_journal_behind(tmp_path: Path) -> None:
    """Where there is none, none is made."""
    settings = replace(PRICED, journal=JournalSettings(path=tmp_path / "none.db"))

    class Real(ScriptedWorld):
        journal = World.journal

    assert 0 == typed("forecast", plan_file(tmp_path, ONE), world=Real(greets(), settings)).exit_code
    assert not (tmp_path / "none.db").exists()
