"""Plans that may not be done: beyond a cap, or without a person's yes."""

from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.settings import ModelSettings, PriceSettings, Settings
from tests.orchestrator.cli.terminal import KEPT, ScriptedWorld, greets, plan_file, typed

DEAR = ModelSettings(provider="openai", model="x", price=PriceSettings(input=Decimal(1000), output=Decimal(1000)))
WASTEFUL = """
goal: Greet
steps:
  - {id: hello, task: Say hello, tools: []}
  - {id: idle, task: Say goodbye, tools: []}
output: ${steps.hello.output}
"""


@pytest.mark.parametrize("said", ["y\n", "YES\n"])
def test_with_a_yes_it_is_done(said: str, tmp_path: Path) -> None:
    """The plan, its findings and its forecast are shown before the question, and nothing of it is on stdout."""
    result = typed("run", plan_file(tmp_path, WASTEFUL), "--confirm", stdin=said)

    assert (0, "Hello, harbour!\n") == (result.exit_code, result.stdout)
    shown, _, rest = result.stderr.partition("go on? [y/N] ")
    assert rest
    for line in ("├─ * hello", "P020 warning at /steps/1: nothing uses", "critical path: hello"):
        assert line in shown


@pytest.mark.parametrize("said", ["n\n", "", "yesterday\n"])
def test_without_a_yes_nothing_is_done(said: str, tmp_path: Path) -> None:
    """Anything but a yes is a no, silence too; no model was asked."""
    model = greets()

    result = typed("run", plan_file(tmp_path, WASTEFUL), "--confirm", world=ScriptedWorld(model), stdin=said)

    assert (1, "", []) == (result.exit_code, result.stdout, model.requests)
    assert "a hook refused the plan: nobody said yes to it" in result.stderr


def test_a_planned_goal_is_asked_about() -> None:
    """A plan that a model wrote is shown when it is there, and refused before its first step."""
    model = greets()

    result = typed("run", "greet the harbour", "--confirm", world=ScriptedWorld(model), stdin="n\n")

    assert (1, 1) == (result.exit_code, len(model.requests))
    assert "└─ * hello" in result.stderr


@pytest.mark.parametrize(
    ("cap", "why"), [(("--max-cost", "0.01"), "costs at least $0.4000"), (("--max-seconds", "0.1"), "takes at least 0.5 s")]
)
def test_caps(cap: tuple[str, str], why: str, tmp_path: Path) -> None:
    """A plan that can't be had for so much is refused before anything is asked of a model; a wider cap lets it through."""
    model = greets()
    world = ScriptedWorld(model, Settings(models={"dear": DEAR}, journal=KEPT))
    path = plan_file(tmp_path, WASTEFUL)

    result = typed("run", path, *cap, world=world)

    assert (1, []) == (result.exit_code, model.requests)
    assert why in result.stderr
    assert typed("run", path, cap[0], "500", world=world).exit_code == 0
