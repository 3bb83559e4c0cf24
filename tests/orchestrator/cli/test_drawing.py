"""`dagwright draw` and `schema`."""

import json
from pathlib import Path

import pytest

from tests.orchestrator.cli.terminal import plan_file, typed


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        pytest.param([], "Greet the harbour", id="tree"),
        pytest.param(["--as", "mermaid"], "flowchart TD", id="mermaid"),
        pytest.param(["--as", "dot"], "digraph plan {", id="dot"),
    ],
)
def test_forms(arguments: list[str], first: str, tmp_path: Path) -> None:
    """A tree, unless another form is asked for."""
    result = typed("draw", plan_file(tmp_path), *arguments)

    assert (0, first) == (result.exit_code, result.stdout.splitlines()[0])


def test_an_unknown_form(tmp_path: Path) -> None:
    """What there is instead is said."""
    result = typed("draw", plan_file(tmp_path), "--as", "mermade")

    assert result.exit_code == 2
    assert "no form named 'mermade'; did you mean 'mermaid'? there are: dot, mermaid, tree" in result.stderr


def test_schema() -> None:
    """One JSON object, for an editor to keep."""
    result = typed("schema")

    assert json.loads(result.stdout)["title"] == "A plan of dagwright"
