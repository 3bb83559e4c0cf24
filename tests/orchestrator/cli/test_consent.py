"""Plans that may not be done: beyond a cap, or without a person's yes."""

from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.settings import ModelSettings, PriceSettings, Settings
from registry.testing import ScriptedModel, asks
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
    assert "the plan is not begun: nobody said yes to it" in result.stderr


def test_a_planned_goal_is_asked_about() -> None:
    """A plan that a model wrote is shown when it is there, and refused before its first step."""
    model = greets()

    result = typed("run", "greet the harbour", "--confirm", world=ScriptedWorld(model), stdin="n\n")

    assert (1, 1) == (result.exit_code, len(model.requests))
    assert "└─ * hello" in result.stderr


def test_what_can_not_be_done_is_not_asked_about(tmp_path: Path) -> None:
    """A plan with errors is refused with them, whatever anybody would say to it."""
    asks = WASTEFUL + "inputs:\n  name: {type: string}\n"

    result = typed("run", plan_file(tmp_path, asks), "--confirm", stdin="y\n")

    assert 1 == result.exit_code
    assert "go on?" not in result.stderr
    assert "P011 error at /inputs/name, line 8, column 3: the input 'name' was not given" in result.stderr


def test_a_revised_plan_is_asked_about_with_what_changed() -> None:
    """Who said yes to a plan sees what is new in the next one, and that is not begun without another yes."""
    model = ScriptedModel(
        [
            asks("plan", steps=[{"id": "look", "task": "Look", "depends_on": []}]),
            "seen",
            asks("verdict", achieved=False, reasoning="no", confidence=0.9, missing=["more"], final_answer=""),
            asks("plan", steps=[{"id": "dig", "task": "Dig", "depends_on": ["look"]}]),
            "the answer",
        ]
    )

    result = typed("run", "find it", "--confirm", "--max-rounds", "2", world=ScriptedWorld(model), stdin="y\nn\n")
    first, second, rest = result.stderr.split("go on? [y/N] ")

    assert "plan 2" not in first
    assert "plan 2: added dig (after look): Dig\nplan 2: kept look\n" in second
    assert "dig: started" not in rest
    assert (1, "the answer\n") == (result.exit_code, result.stdout)


@pytest.mark.parametrize(
    ("cap", "why"),
    [
        (("--max-cost", "0.01", "--allow-unpriced"), "costs at least $0.4000"),
        (("--max-seconds", "0.1"), "takes at least 0.5 s"),
    ],
)
def test_caps(cap: tuple[str, str], why: str, tmp_path: Path) -> None:
    """A plan that can't be had for so much is refused before anything is asked of a model; a wider cap lets it through."""
    model = greets()
    world = ScriptedWorld(model, Settings(models={"dear": DEAR}, journal=KEPT))
    path = plan_file(tmp_path, WASTEFUL)

    result = typed("run", path, *cap, world=world)

    assert (1, []) == (result.exit_code, model.requests)
    assert why in result.stderr
    assert typed("run", path, cap[0], "500", *cap[2:], world=world).exit_code == 0
