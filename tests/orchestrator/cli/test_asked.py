"""What the words after `run` ask for."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.asked import asked, read_inputs, read_written
from orchestrator.cli.options import Options
from planner import Plan
from registry.errors import ConfigurationError
from tests.orchestrator.cli.terminal import plan_file

DRAFT = """
goal: g
inputs:
  text: {type: string}
  whole: {type: integer}
  figure: {type: number}
  switch: {type: boolean}
  row: {type: array}
  record: {type: object}
steps: [{id: a, task: t}]
"""


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        pytest.param("text=5", "5", id="text stays text"),
        pytest.param("text=", "", id="empty text"),
        pytest.param("text=a=b", "a=b", id="an equals sign in the value"),
        pytest.param("whole=5", 5, id="integer"),
        pytest.param("figure=2.5", 2.5, id="number"),
        pytest.param("figure=2", 2, id="a whole number"),
        pytest.param("switch=true", True, id="boolean"),
        pytest.param("row=[1, 2]", [1, 2], id="array"),
        pytest.param('record={"a": 1}', {"a": 1}, id="object"),
        pytest.param("other=1", "1", id="unknown to the plan"),
    ],
)
def test_values_have_the_type_that_the_plan_declares(assignment: str, expected: Any, tmp_path: Path) -> None:
    """Text is taken as it is, everything else is JSON."""
    values, findings = read_inputs(read_written(plan_file(tmp_path, DRAFT)).draft, (assignment,))

    assert ([expected], ()) == (list(values.values()), findings)


@pytest.mark.parametrize("assignment", ["whole=5.5", "whole=five", "whole=true", "switch=1", "row={}", "record=[]", "figure="])
def test_values_that_do_not_fit_are_findings(assignment: str, tmp_path: Path) -> None:
    """A value of another type is a finding at its input, with what to do."""
    _, (found,) = read_inputs(read_written(plan_file(tmp_path, DRAFT)).draft, (assignment,))

    assert ("P012", "/inputs/" + assignment.partition("=")[0]) == (found.code, found.place)


def test_a_value_may_stand_in_a_file(tmp_path: Path) -> None:
    """`@FILE` is what the file holds."""
    (tmp_path / "rows.json").write_text("[1]")

    values, _ = read_inputs(read_written(plan_file(tmp_path, DRAFT)).draft, (f"row=@{tmp_path / 'rows.json'}",))

    assert values == {"row": [1]}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param(("text",), "gives no value", id="no value"),
        pytest.param(("=x",), "gives no value", id="no name"),
        pytest.param(("text=a", "text=b"), "'text' is given twice", id="twice"),
        pytest.param(("text=@absent",), "input 'text', 'absent', can't be read", id="no file"),
    ],
)
def test_assignments_that_are_none(given: tuple[str, ...], told: str, tmp_path: Path) -> None:
    """What can't be understood is misuse, not a finding in the plan."""
    with pytest.raises(ConfigurationError, match=told):
        read_inputs(read_written(plan_file(tmp_path, DRAFT)).draft, given)


@pytest.mark.parametrize("name", ["plan.yaml", "plan.yml", "PLAN.JSON", "a plan without a suffix"])
def test_a_file_is_a_plan(name: str, tmp_path: Path) -> None:
    """A plan's suffix, or the name of a file that exists, means a plan; its folder is the root."""
    path = plan_file(tmp_path, '{"goal": "g", "steps": [{"id": "a", "task": "t"}]}', name)

    wanted = asked(str(path), Options())

    assert isinstance(wanted.goal, Plan)
    assert wanted.root == tmp_path


@pytest.mark.parametrize("goal", ["Compare a.yaml with b.txt", "x" * 5000, "a\0b", "one\ntwo"])
def test_everything_else_is_a_goal(goal: str, tmp_path: Path) -> None:
    """Any text will do, and the root is the one given."""
    assert (goal, tmp_path) == (asked(goal, Options(root=tmp_path)).goal, asked(goal, Options(root=tmp_path)).root)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are told as that."""
    (tmp_path / "plan.yaml").write_bytes(b"\xff\xfe")

    with pytest.raises(ConfigurationError, match="is not UTF-8 text"):
        asked(str(tmp_path / "plan.yaml"), Options())
