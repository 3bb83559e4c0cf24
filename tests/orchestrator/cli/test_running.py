"""`dagwright run`: what it prints, where, and how it ends."""

import json
import re
from pathlib import Path

import pytest

from orchestrator.cli.running import write_whole
from orchestrator.settings import Settings
from registry.errors import ConfigurationError, Unreachable
from registry.testing import ScriptedModel
from tests.orchestrator.cli.terminal import ScriptedWorld, greets, plan_file, typed


def test_a_goal_is_answered() -> None:
    """The answer alone goes to stdout; progress and a last line that names run and next command go to stderr."""
    result = typed("run", "Greet the harbour")

    assert (0, "Hello, harbour!\n") == (result.exit_code, result.stdout)
    assert "hello: started" in result.stderr
    assert "achieved in 0.0 s, cost unknown; next: -o FILE keeps the answer" in result.stderr.splitlines()[-1]


def test_a_goal_may_come_from_stdin() -> None:
    """A dash stands for the text of stdin."""
    model = greets()

    assert typed("run", "-", world=ScriptedWorld(model), stdin="Greet the moon\n").exit_code == 0

    assert "Greet the moon" in model.requests[0].messages[-1].text


def test_a_goal_that_is_not_met_still_has_an_answer() -> None:
    """The run ended, the answer is printed, and the exit code says that it is not what was asked for."""
    result = typed("run", "Greet the harbour", world=ScriptedWorld(greets(met=False)))

    assert (1, "Hello, harbour!\n") == (result.exit_code, result.stdout)
    assert "missing in" in result.stderr


def test_json_is_for_programs() -> None:
    """Every event is a line of JSON on stdout; the answer is among them and not printed again."""
    result = typed("run", "Greet the harbour", "--json")

    kinds = [json.loads(line)["event"]["kind"] for line in result.stdout.splitlines()]
    assert ("run_started", "run_ended") == (kinds[0], kinds[-1])
    assert "answer_written" in kinds


def test_quiet_leaves_the_answer_only() -> None:
    """Nothing goes to stderr when all is well."""
    result = typed("run", "Greet the harbour", "--quiet")

    assert ("Hello, harbour!\n", "") == (result.stdout, result.stderr)


def test_the_answer_may_be_kept(tmp_path: Path) -> None:
    """`-o` writes the answer to a file as well, and leaves nothing else in the folder."""
    result = typed("run", "Greet the harbour", "-o", tmp_path / "answer.md")

    assert (0, "Hello, harbour!\n") == (result.exit_code, result.stdout)
    assert ["answer.md"] == [path.name for path in tmp_path.iterdir()]
    assert (tmp_path / "answer.md").read_text() == "Hello, harbour!\n"


def test_an_answer_that_could_not_be_kept_is_refused_beforehand(tmp_path: Path) -> None:
    """Nobody pays for a run whose answer has nowhere to go."""
    model = greets()

    result = typed("run", "Greet the harbour", "-o", tmp_path / "absent" / "a.md", world=ScriptedWorld(model))

    assert result.exit_code == 2
    assert "no folder" in result.stderr
    assert [] == model.requests


def test_a_plan_is_done_with_its_inputs(tmp_path: Path) -> None:
    """The steps of a file are done with the values given, and its output is the answer."""
    model = greets()

    result = typed("run", plan_file(tmp_path), "--input", "who=the seals", world=ScriptedWorld(model))

    assert (0, "Hello, harbour!\n") == (result.exit_code, result.stdout)
    assert "the seals" in model.requests[0].messages[-1].text


def test_a_plan_sees_the_files_beside_it(tmp_path: Path) -> None:
    """File tools begin at the plan's folder, wherever the command was typed."""
    (tmp_path / "note.txt").write_text("the tide is out")
    text = "goal: g\nsteps: [{id: a, kind: tool, tool: read_file, args: {path: note.txt}}]\noutput: ${steps.a.output}"

    assert typed("run", plan_file(tmp_path, text)).stdout == "the tide is out\n"


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        pytest.param("goal: g\nsteps: []", [], "P001 error at /steps, line 2, column 1: the plan has no steps", id="no steps"),
        pytest.param("goal: [", [], "P014 error", id="no plan"),
        pytest.param(None, [], "P011 error at /inputs/who, line 4, column 3: the input", id="an input lacks"),
        pytest.param(None, ["-i", "who=a", "-i", "what=b"], "P015 error", id="an unknown input"),
        pytest.param(None, ["-i", "who=a", "-i", "times=b"], "P012 error at /inputs/times", id="an input that does not fit"),
        pytest.param(
            "goal: g\nsteps: [{id: a, task: t, tool_hint: cook}]",
            [],
            "P008 error at /steps/0/tool_hint, line 2, column 26:",
            id="an unknown tool",
        ),
    ],
)
def test_a_wrong_plan_is_told(text: str | None, arguments: list[str], told: str, tmp_path: Path) -> None:
    """Each finding has a line with its code and place; nothing is asked of any model."""
    model = greets()
    path = plan_file(tmp_path, text) if text else plan_file(tmp_path)

    result = typed("run", path, *arguments, world=ScriptedWorld(model))

    assert result.exit_code == 1
    assert [line for line in result.stderr.splitlines() if line.startswith(told)]
    assert [] == model.requests


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["absent.yaml"], "'absent.yaml', can't be read: No such file", id="no such file"),
        pytest.param([" "], "the goal is empty", id="no goal"),
        pytest.param(["g", "--input", "a=b"], "a goal has none", id="inputs of a goal"),
        pytest.param(["g", "--root", "absent"], "no folder 'absent'", id="no such root"),
        pytest.param(["g", "--tools", "absent_module:x"], "no module named 'absent_module'", id="no such tools"),
    ],
)
def test_what_can_t_begin_is_misuse(arguments: list[str], told: str) -> None:
    """One sentence and exit code 2."""
    result = typed("run", *arguments)

    assert (2, "") == (result.exit_code, result.stdout)
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_run_that_fails_says_why() -> None:
    """An outage ends the run with a sentence, how to go on, and exit code 1."""
    model = ScriptedModel(lambda _: Unreachable("http://h", "refused"))

    result = typed("run", "Greet the harbour", world=ScriptedWorld(model))

    assert (1, "") == (result.exit_code, result.stdout)
    why, last = result.stderr.splitlines()[-2:]
    assert "http://h can't be reached: refused" in why
    assert re.fullmatch(r"dagwright: run (\w+) failed; go on with: dagwright resume \1", last)


ASKING = """
goal: Send it
steps:
  - {id: ask, kind: tool, tool: ask_user, args: {question: "Where to?"}}
output: ${steps.ask.output}
"""


@pytest.mark.parametrize("quiet", [[], ["--quiet"]], ids=["told", "quiet"])
def test_a_run_that_waits_says_for_what(quiet: list[str], tmp_path: Path) -> None:
    """Exit code 3, and however quiet it was to be: what is asked, what to type to answer, and how to go on."""
    result = typed("run", plan_file(tmp_path, ASKING), *quiet)

    assert (3, "") == (result.exit_code, result.stdout)
    heading, asked, command, last = result.stderr.splitlines()[-4:]
    assert re.fullmatch(r"dagwright: step ask asks \(\w+\):", heading)
    assert "  Where to?" == asked
    run = last.split()[2]
    assert re.fullmatch(rf"dagwright answer {run} \w+ 'YOUR ANSWER'", command)
    assert f"dagwright: run {run} is suspended; answer, and go on with: dagwright resume {run}" == last


@pytest.mark.parametrize(
    ("world", "text", "told"),
    [
        pytest.param(
            ScriptedWorld(ScriptedModel(lambda _: Unreachable("http://h", "refused")), Settings()),
            "Greet the harbour",
            "failed; next: the same command with --json shows every event",
            id="failed",
        ),
        pytest.param(
            ScriptedWorld(greets(), Settings()),
            ASKING,
            "is suspended; nobody can go on with it",
            id="suspended",
        ),
        pytest.param(ScriptedWorld(greets(), Settings()), "Greet the harbour", "--json shows every step", id="achieved"),
    ],
)
def test_what_is_kept_in_memory_only_can_t_go_on(world: ScriptedWorld, text: str, told: str, tmp_path: Path) -> None:
    """And nobody is told to resume it, or to look at it later."""
    result = typed("run", plan_file(tmp_path, text) if text == ASKING else text, world=world)

    assert told in result.stderr.splitlines()[-1]
    assert not re.search("dagwright (resume|show|answer) ", result.stderr)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        pytest.param("goal: g\nsteps: [{id: a, task: t, tool_hint: cook}]", "dagwright: next: dagwright logs", id="submitted"),
        pytest.param(None, "failed; go on with: dagwright resume", id="planned"),
    ],
)
def test_a_wrong_plan_can_be_had_anew_from_a_model_only(text: str | None, last: str, tmp_path: Path) -> None:
    """A submitted one stays as wrong as it is."""
    world = ScriptedWorld(ScriptedModel(lambda _: "no plan"))

    result = typed("run", plan_file(tmp_path, text) if text else "Greet the harbour", world=world)

    assert 1 == result.exit_code
    assert last in result.stderr.splitlines()[-1]


def test_the_models_are_those_asked_for() -> None:
    """`--model` may come more than once, and reaches the wiring as written."""
    world = ScriptedWorld(greets())

    typed("run", "Greet the harbour", "--model", "a", "-m", "planning=b", world=world)

    assert world.asked_for == ("a", "planning=b")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """What stood there before is gone, and a file that can't be written is told."""
    path = tmp_path / "answer.md"
    path.write_text("something longer that stood here before")

    write_whole(path, "new")

    assert path.read_text() == "new\n"
    with pytest.raises(ConfigurationError, match="can't be written"):
        write_whole(tmp_path, "a folder is no file")


def test_a_limit_is_kept_and_told() -> None:
    """However many requests a goal would take; the summary says how many it took, and what is missing stands in the answer."""
    model = greets(met=False)
    result = typed("run", "greet", "--max-requests", "2", world=ScriptedWorld(model))

    assert (1, 2) == (result.exit_code, len(model.requests))
    assert "budget: 2 of 2 requests; it came near its limit of requests" in result.stderr


def test_money_needs_prices() -> None:
    """Nothing runs where nobody knows them, unless that is allowed."""
    model = greets()
    refused = typed("run", "greet", "--max-cost", "5", world=ScriptedWorld(model))

    assert (2, []) == (refused.exit_code, model.requests)
    assert "nobody knows what scripted charges" in refused.stderr
    assert 0 == typed("run", "greet", "--max-cost", "5", "--allow-unpriced", world=ScriptedWorld(model)).exit_code
