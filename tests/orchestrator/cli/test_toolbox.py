"""`--tools MODULE:NAME`: the user's own tools."""

import sys
from pathlib import Path

import pytest

from orchestrator.cli.toolbox import toolbox
from orchestrator.ports import Ports
from registry.errors import ConfigurationError

MODULE = """
from registry.tools.function import tool

@tool(effect="pure")
def fish() -> str:
    "Catch a fish."
    return "cod"

def boat(name: str) -> str:
    "Call a boat."
    return name

both = [fish, boat]
number = 3
"""


@pytest.fixture
def harbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the working folder, which goes away with the test."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    name = f"harbour_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / f"{name}_broken.py").write_text("raise RuntimeError('the pier is closed')")
    (tmp_path / f"{name}_lacking.py").write_text("import a_package_that_nobody_has")
    return name


def names(*named: str) -> tuple[str, ...]:
    return toolbox(named, Path(), Ports()).names


def test_some_come_with_dagwright() -> None:
    """Arithmetic, files and the clock are always there, and the user unless nobody is to be asked."""
    assert names() == ("calculator", "read_file", "list_files", "current_time", "ask_user")
    assert names()[:-1] == toolbox((), Path(), Ports(), asking=False).names


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        pytest.param("fish", ("fish",), id="a tool"),
        pytest.param("boat", ("boat",), id="a function"),
        pytest.param("both", ("fish", "boat"), id="a list of them"),
    ],
)
def test_what_a_module_may_offer(attribute: str, expected: tuple[str, ...], harbour: str) -> None:
    """A tool, a function, or a list of such, from a module of the working folder."""
    assert expected == names(f"{harbour}:{attribute}")[5:]


@pytest.mark.parametrize(
    ("named", "told"),
    [
        pytest.param("{}", "write MODULE:NAME", id="no name"),
        pytest.param(":fish", "write MODULE:NAME", id="no module"),
        pytest.param("{}:fisch", "did you mean 'fish'?", id="misspelt"),
        pytest.param("{}:number", "a int is neither a tool nor a function", id="no tool"),
        pytest.param("{}_absent:x", "no module named '{}_absent'", id="no such module"),
        pytest.param("{}_broken:x", "failed: RuntimeError: the pier is closed", id="the module raises"),
        pytest.param(
            "{}_lacking:x", "failed: ModuleNotFoundError: No module named 'a_package_that_nobody_has'", id="lacks another"
        ),
    ],
)
def test_what_can_t_be_a_tool(named: str, told: str, harbour: str) -> None:
    """The sentence says which of the steps to the tool went wrong."""
    with pytest.raises(ConfigurationError) as refused:
        names(named.format(harbour))

    assert told.format(harbour) in str(refused.value)


def test_the_working_folder_hides_nothing_later(harbour: str) -> None:
    """After the import the folder stays on the path, behind everything installed."""
    names(f"{harbour}:fish")

    assert sys.path[-1] == str(Path.cwd())
    assert sys.path.count(str(Path.cwd())) == 1
