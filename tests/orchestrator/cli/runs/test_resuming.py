"""`dagwright resume`: a run goes on as if nothing had happened."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from orchestrator.cli.world import World
from orchestrator.events.facts import CancelRequested, PlanReady, RunEnded, RunStarted
from orchestrator.settings import JournalSettings, Settings
from planner import Plan, Step, ToolStep
from registry.errors import Unreachable
from registry.models.registry import ModelRegistry
from registry.testing import ScriptedModel
from tests.orchestrator.cli.terminal import ScriptedWorld, greets, plan_file, remembers, typed
from tests.orchestrator.cli.view.script import PLANNING, SUMMARY

OUTAGE = ScriptedModel(lambda _: Unreachable("http://h", "refused"))
ASKING = """
goal: Send it
steps:
  - {id: ask, kind: tool, tool: ask_user, args: {question: "Where to?"}}
  - {id: put, kind: tool, tool: calculator, args: {expression: 1 + 1}}
output: ${steps.ask.output}
"""


def after_an_outage() -> ScriptedWorld:
    """A world with a run that failed, in which the network is back."""
    outage = ScriptedWorld(OUTAGE)
    assert typed("run", "Greet the harbour", world=outage).exit_code == 1
    return ScriptedWorld(greets(), kept=outage.kept)


def only_run(world: ScriptedWorld) -> str:
    (listed,) = anyio.run(world.kept.runs)
    return listed.run


def test_a_failed_run_goes_on() -> None:
    """It needs no option, and its answer is the run's."""
    world = after_an_outage()

    result = typed("resume", only_run(world)[:5], world=world)

    assert (0, "Hello, harbour!\n") == (result.exit_code, result.stdout)
    assert "hello: started" in result.stderr


def test_it_is_begun_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models, tools, folders and the file for the answer are those of the first command, wherever the second one is typed."""
    (tmp_path / "pier_tools.py").write_text("def fish() -> str:\n    'Fish.'\n    return 'cod'\n")
    (tmp_path / "note.txt").write_text("the tide is out")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    text = """
goal: g
steps:
  - {id: where, kind: tool, tool: ask_user, args: {question: "Where to?"}}
  - {id: read, kind: tool, tool: read_file, args: {path: note.txt}, depends_on: [where]}
  - {id: fish, kind: tool, tool: fish, depends_on: [where]}
output: ${steps.read.output}
"""
    world = ScriptedWorld(greets())
    first = typed("run", plan_file(tmp_path, text), "--tools", "pier_tools:fish", "-m", "a", "-o", "out.md", world=world)
    monkeypatch.chdir("/")
    typed("answer", only_run(world), "north", world=world)
    world.asked_for = ()

    second = typed("resume", only_run(world), world=world)

    assert (3, 0) == (first.exit_code, second.exit_code)
    assert "the tide is out\n" == second.stdout == (tmp_path / "out.md").read_text()
    assert ("a",) == world.asked_for


def test_a_file_is_not_written_again_unasked(tmp_path: Path) -> None:
    """Somebody may have gone on writing in it since the run ended."""
    world = ScriptedWorld(greets())
    typed("run", "Greet the harbour", "-o", tmp_path / "out.md", world=world)
    (tmp_path / "out.md").write_text("mine")

    assert 0 == typed("resume", only_run(world), world=world).exit_code
    assert "mine" == (tmp_path / "out.md").read_text()


def test_an_answer_that_could_not_be_kept_is_refused_beforehand(tmp_path: Path) -> None:
    """The folder of the first command may be gone."""
    (tmp_path / "gone").mkdir()
    outage = ScriptedWorld(OUTAGE)
    typed("run", "Greet the harbour", "-o", tmp_path / "gone" / "out.md", world=outage)
    (tmp_path / "gone").rmdir()
    world = ScriptedWorld(greets(), kept=outage.kept)

    refused = typed("resume", only_run(world), world=world)
    elsewhere = typed("resume", only_run(world), "-o", tmp_path / "out.md", world=world)

    assert (2, 0) == (refused.exit_code, elsewhere.exit_code)
    assert "no folder" in refused.stderr


def test_what_is_said_anew_counts() -> None:
    """Another model, another screen."""
    world = after_an_outage()

    result = typed("resume", only_run(world), "-m", "b", "-q", world=world)

    assert ("Hello, harbour!\n", "", ("b",)) == (result.stdout, result.stderr, world.asked_for)


def test_programs_get_every_event_again() -> None:
    """From the first one on, those of the earlier life too."""
    world = after_an_outage()

    lines = typed("resume", only_run(world), "--json", world=world).stdout.splitlines()

    kinds = [json.loads(line)["event"]["kind"] for line in lines]
    assert ("run_started", "run_ended") == (kinds[0], kinds[-1])
    assert ["failed", "achieved"] == [
        event["outcome"] for line in lines if (event := json.loads(line)["event"])["kind"] == "run_ended"
    ]


def test_a_run_that_has_ended_is_told_again(tmp_path: Path) -> None:
    """The same answer, and nothing is asked of any model."""
    world = ScriptedWorld(greets())
    typed("run", "Greet the harbour", world=world)
    silent = ScriptedWorld(OUTAGE, kept=world.kept)

    result = typed("resume", only_run(world), "-o", tmp_path / "again.md", world=silent)

    assert (0, "Hello, harbour!\n") == (result.exit_code, result.stdout)
    assert result.stderr == f"dagwright: run {only_run(world)} had ended already: achieved\n"
    assert "Hello, harbour!\n" == (tmp_path / "again.md").read_text()


def test_a_goal_that_was_not_met_stays_so() -> None:
    """The exit code too; with --json every event is there again, and the answer among them only."""
    world = ScriptedWorld(greets(met=False))
    typed("run", "Greet the harbour", world=world)

    plain = typed("resume", only_run(world), "-q", world=world)
    lines = typed("resume", only_run(world), "--json", world=world).stdout.splitlines()

    assert (1, "Hello, harbour!\n", "") == (plain.exit_code, plain.stdout, plain.stderr)
    assert "run_ended" == json.loads(lines[-1])["event"]["kind"]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((RunEnded(outcome="cancelled", summary=SUMMARY),), id="ended"),
        pytest.param((CancelRequested(),), id="asked for, and the process died"),
    ],
)
def test_a_cancelled_run_is_not_resumed(events: tuple[RunEnded | CancelRequested, ...]) -> None:
    """One sentence, exit code 1."""
    result = typed("resume", "r1", "-q", world=remembers({"r1": (*PLANNING, *events)}))

    assert (1, "", "dagwright: run 'r1' was cancelled\n") == (result.exit_code, result.stdout, result.stderr)


def test_two_can_t_work_on_one_run() -> None:
    """The second is told who does."""
    result = typed("resume", "r1", world=remembers({"r1": (PLANNING[0],)}, held=["r1"]))

    assert (1, "") == (result.exit_code, result.stdout)
    assert "run 'r1' is already being worked on by somebody" in result.stderr


@pytest.mark.parametrize(
    ("step", "told"),
    [
        pytest.param(ToolStep(id="a", tool="fish"), "'fish'", id="a tool of a step"),
        pytest.param(Step(id="a", task="t", tool_hint="fish"), "'fish'", id="a tool that is hinted at"),
        pytest.param(Step(id="a", task="t", model_hint="big"), "'big'", id="a model"),
    ],
)
@pytest.mark.parametrize("planned", [True, False], ids=["planned", "submitted"])
def test_what_is_there_no_more_is_told_beforehand(step: Step | ToolStep, planned: bool, told: str) -> None:
    """Nothing is done of a run that could not be finished."""
    plan = Plan(goal="g", steps=(step,))
    start = RunStarted(goal="g", plan=None if planned else plan, inputs={}, today="2026-12-01")
    world = remembers({"r1": (start, *([PlanReady(plan=plan)] if planned else []))})

    result = typed("resume", "r1", world=world)

    assert (2, "") == (result.exit_code, result.stdout)
    assert "run r1 can't go on as it was begun: " in result.stderr
    assert told in result.stderr
    assert 1 + planned == len(anyio.run(world.kept.read, "r1"))


def test_tools_that_are_gone_are_told() -> None:
    """Their module was there when the run began."""
    setup = {"tools": ["gone_tools:fish"]}
    world = remembers({"r1": (RunStarted(goal="g", plan=None, inputs={}, today="2026-12-01", setup=setup),)})

    result = typed("resume", "r1", world=world)

    assert 2 == result.exit_code
    assert "no module named 'gone_tools'" in result.stderr


class Filed(World):
    """The real settings, and a model that greets."""

    @asynccontextmanager
    async def models(self, settings: Settings, *_: object) -> AsyncGenerator[ModelRegistry, None]:
        self.used = settings
        yield ModelRegistry(greets())


def test_the_settings_are_those_of_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that was read then is read again, and the journal is the one in which the run was found."""
    monkeypatch.setenv("DAGWRIGHT_JOURNAL", str(tmp_path / "journal.sqlite3"))
    (tmp_path / "dagwright.toml").write_text("[limits]\nrounds = 2\n[journal]\npath = 'another.sqlite3'")
    monkeypatch.chdir(tmp_path)
    assert 3 == typed("run", plan_file(tmp_path, ASKING), world=Filed()).exit_code
    monkeypatch.chdir("/")
    run = json.loads(typed("runs", "--json", world=Filed()).stdout)["run"]

    world = Filed()
    result = typed("resume", run, world=world)

    assert 3 == result.exit_code
    assert 2 == world.used.limits.rounds
    assert JournalSettings(path=tmp_path / "journal.sqlite3") == world.used.journal


def test_three_processes_share_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun in one, answered in another, gone on with in a third: each opens the journal's file anew."""
    monkeypatch.setenv("DAGWRIGHT_JOURNAL", str(tmp_path / "state" / "journal.sqlite3"))

    first = typed("run", plan_file(tmp_path, ASKING), world=Filed())
    command = next(line for line in first.stderr.splitlines() if line.startswith("dagwright answer ")).split()
    second = typed(*command[1:4], "north", world=Filed())
    third = typed("resume", command[2], world=Filed())

    assert (3, 0, 0) == (first.exit_code, second.exit_code, third.exit_code)
    assert "north\n" == third.stdout
    assert f"go on with: dagwright resume {command[2]}" in second.stdout
    assert "put: calls calculator" in first.stderr
    assert "Where to?" in second.stdout
