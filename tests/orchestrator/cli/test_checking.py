"""`dagwright check`: one line for each finding."""

import json
from pathlib import Path

import pytest

from orchestrator.settings import ModelSettings, Settings
from tests.orchestrator.cli.terminal import ScriptedWorld, greets, plan_file, typed

CIRCLE = "goal: g\nsteps: [{id: a, task: t, depends_on: b}, {id: b, task: t, depends_on: [a, c]}]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("goal: g\nsteps: [{id: a, task: t}, {id: b, task: t2}]", "ok: 2 steps\n", id="two"),
        pytest.param("goal: g\nsteps: [{id: a, task: t, model_hint: planning}]", "ok: 1 step\n", id="one"),
        pytest.param("goal: g\nsteps: [{id: a, task: t, model_hint: big}]", "ok: 1 step\n", id="a model of the file"),
    ],
)
def test_a_sound_plan(text: str | None, said: str, tmp_path: Path) -> None:
    """Inputs need no values yet, and models no keys; no model is connected."""
    world = ScriptedWorld(greets(), Settings(models={"big": ModelSettings(provider="openai", api_key_env="NOT_SET")}))

    result = typed("check", plan_file(tmp_path, text) if text else plan_file(tmp_path), world=world)

    assert (0, said) == (result.exit_code, result.stdout)


def test_all_findings_are_told(tmp_path: Path) -> None:
    """Every error has a line that begins with its code and says where it is."""
    result = typed("check", plan_file(tmp_path, CIRCLE))

    assert result.exit_code == 1
    assert ["P005 error at /steps/1/depends_on/1, line 2, column 75", "P006 error at /steps/0/depends_on, line 2, column 26"] == [
        line.partition(":")[0] for line in result.stdout.splitlines()
    ]


@pytest.mark.parametrize("text", ["", "goal: [", "[]", "goal: g\nsteps: 3"])
def test_what_is_no_plan_at_all(text: str, tmp_path: Path) -> None:
    """A file that holds no plan is a finding like any other."""
    result = typed("check", plan_file(tmp_path, text))

    assert result.exit_code == 1
    assert result.stdout.startswith("P01")


def test_values_are_checked_where_they_are_given(tmp_path: Path) -> None:
    """With `--input` it is asked whether that run could begin."""
    result = typed("check", plan_file(tmp_path), "--input", "times=x", "--input", "what=y")

    assert {"P011", "P012", "P015", "P020"} == {line.split()[0] for line in result.stdout.splitlines()}


def test_warnings_leave_a_plan_sound(tmp_path: Path) -> None:
    """What may be meant is told, and the plan can be run."""
    result = typed("check", plan_file(tmp_path))

    warned, sound = result.stdout.splitlines()
    assert (0, "ok: 2 steps, 1 warning") == (result.exit_code, sound)
    assert warned.startswith("P020 warning at /steps/1, line 9, column 5: nothing uses the result of step 'sum'")


def test_models_are_known_unconnected(tmp_path: Path) -> None:
    """What a model of the settings can do is known to the check, although its key is not set."""
    weak = ModelSettings(provider="openai", api_key_env="NOT_SET", abilities={"tool_call": False}, context_window=900)
    steps = "{id: a, task: t}, {id: b, task: u, tools: [calculator], model_hint: weak, depends_on: [a]}"
    path = plan_file(tmp_path, f"goal: g\nsteps: [{steps}]\noutput: ${{steps.b.output}}")

    result = typed("check", path, world=ScriptedWorld(greets(), Settings(models={"weak": weak})))

    assert ["P025 warning", "ok: 2"] == [" ".join(line.split()[:2]) for line in result.stdout.splitlines()]


def test_machines_read_json(tmp_path: Path) -> None:
    """The same findings as data."""
    result = typed("check", plan_file(tmp_path, CIRCLE), "--json")

    report = json.loads(result.stdout)
    assert (False, 2) == (report["ok"], report["steps"])
    assert [("P005", 2, 75), ("P006", 2, 26)] == [
        (found["code"], found["line"], found["column"]) for found in report["diagnostics"]
    ]


def test_tools_of_one_s_own_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that the run would be given is known to the check."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kitchen_tools.py").write_text("def cook() -> str:\n    'Cook.'\n    return 'soup'\n")
    path = plan_file(tmp_path, "goal: g\nsteps: [{id: a, kind: tool, tool: cook}]")

    assert typed("check", path).exit_code == 1
    assert typed("check", path, "--tools", "kitchen_tools:cook").exit_code == 0


def test_an_absent_file_is_misuse() -> None:
    """There is nothing to check."""
    assert typed("check", "absent.yaml").exit_code == 2
