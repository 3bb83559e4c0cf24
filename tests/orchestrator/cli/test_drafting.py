"""`dagwright plan`: the plan and nothing else on stdout."""

from planner import Plan, read_plan
from registry.messages import Reply, Request
from registry.testing import ScriptedModel, asks
from tests.orchestrator.cli.terminal import ScriptedWorld, typed


def test_the_plan_can_be_run_as_it_is_printed() -> None:
    """Stdout is a plan file."""
    result = typed("plan", "Greet the harbour")

    assert (0, "") == (result.exit_code, result.stderr)
    assert Plan.of(read_plan(result.stdout, name="plan.yaml")).step("hello").task == "Say hello"


def test_what_was_mended_is_told_beside_it() -> None:
    """A repair never stands among the lines of the plan."""

    def reply(request: Request) -> Reply:
        return asks("plan", steps=[{"id": "a", "task": "t", "depends_on": ["nobody"]}])

    result = typed("plan", "Greet the harbour", world=ScriptedWorld(ScriptedModel(reply)))

    assert "P005 repair" in result.stderr
    assert "P005" not in result.stdout


def test_what_is_odd_is_told_too() -> None:
    """A plan with an approval that stops nothing can be run, and is warned of."""

    def reply(request: Request) -> Reply:
        return asks("plan", steps=[{"id": "a", "task": "t"}, {"id": "ask", "kind": "approval", "question": "May I?"}])

    result = typed("plan", "Greet the harbour", world=ScriptedWorld(ScriptedModel(reply)))

    assert result.exit_code == 0
    assert "P020 warning at /steps/1" in result.stderr
