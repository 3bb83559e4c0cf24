"""`dagwright forecast`, and caps on what a plan takes."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.cli.forecasting import excess, forecast_of
from orchestrator.cli.options import Options
from orchestrator.limits import Limits
from orchestrator.settings import ModelSettings, PriceSettings, Settings
from planner import Draft, Step
from tests.orchestrator.cli.terminal import ScriptedWorld, greets, plan_file, typed

DEAR = ModelSettings(provider="openai", model="x", price=PriceSettings(input=Decimal(1000), output=Decimal(1000)))
PRICED = Settings(models={"dear": DEAR})
ONE = "goal: g\nsteps: [{id: a, task: t, tools: [], max_iterations: 1}]\noutput: ${steps.a.output}"
DRAFT = Draft(goal="g", steps=[Step(id="a", task="t", tools=[], max_iterations=1)], output="${steps.a.output}")


def test_a_table(tmp_path: Path) -> None:
    """A row for each step, one for all of them, and the critical path; a figure that is sure stands alone."""
    result = typed("forecast", plan_file(tmp_path, ONE), world=ScriptedWorld(greets(), PRICED))

    assert [
        "            calls  tokens               seconds           cost",
        "a           1      200 / 1,500 / 8,000  0.5 / 4.0 / 30.0  $0.2000 / $1.50 / $8.00",
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
    ahead = forecast_of(DRAFT, PRICED, options, now=datetime(2026, 1, 1, tzinfo=UTC), limits=Limits())

    assert why == excess(ahead, options)


def test_a_wrong_plan_has_no_forecast(tmp_path: Path) -> None:
    """It is told what is wrong, and where."""
    result = typed("forecast", plan_file(tmp_path, "goal: g\nsteps: [{id: a}]"))

    assert result.exit_code == 1
    assert "P007 error at /steps/0/task, line 2, column 9" in result.stderr
