"""How a run was begun, written down and read again."""

from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.cli.options import Options
from orchestrator.cli.setup import Setup
from registry.errors import ConfigurationError


def test_what_was_written_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it plain JSON, and every path a whole one."""
    monkeypatch.chdir(tmp_path)
    options = Options(
        models=("a", "planning=b"), tools=("m:t",), output=Path("out.md"), inputs=("who=x",), max_cost=Decimal("0.1")
    )

    setup = Setup.of(options, Path("files"), Path("s.toml"))
    written = setup.written()

    assert setup == Setup.read("r", written)
    assert written == {
        "models": ["a", "planning=b"],
        "tools": ["m:t"],
        "root": str(tmp_path / "files"),
        "folder": str(tmp_path),
        "config": str(tmp_path / "s.toml"),
        "output": str(tmp_path / "out.md"),
        "max_rounds": None,
        "max_cost": "0.1",
        "max_seconds": None,
    }


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        pytest.param("http://ada:secret@h:1/v1?key=secret#m", "general=http://h:1/v1#m", id="in an address"),
        pytest.param("planning=https://secret@h/v1", "planning=https://h/v1", id="of a role"),
        pytest.param("http://h/v1#m", "general=http://h/v1#m", id="nothing to hide"),
        pytest.param("openai:gpt-4o", "openai:gpt-4o", id="a name"),
    ],
)
def test_no_secret_is_written_down(argument: str, expected: str) -> None:
    """An address is kept without user, password and query."""
    assert (expected,) == Setup.of(Options(models=(argument,)), Path(), None).models


def test_what_is_said_anew_counts() -> None:
    """Models and output may change; tools and folders are those of the beginning."""
    setup = Setup(models=("a",), tools=("m:t",), root=Path("/r"), folder=Path("/f"), output=Path("/o"), max_rounds=2)

    same = setup.options(Options(quiet=True))
    other = setup.options(Options(models=("b",), output=Path("/p")))

    begun = Options(
        models=("a",), tools=("m:t",), root=Path("/r"), folder=Path("/f"), output=Path("/o"), max_rounds=2, quiet=True
    )
    assert begun == same
    assert (("b",), Path("/p"), ("m:t",)) == (other.models, other.output, other.tools)


def test_a_run_that_says_nothing_is_begun_here() -> None:
    """A program that used the library had nothing to write down."""
    assert Setup() == Setup.read("r", {})


def test_what_another_program_wrote_is_not_guessed_at() -> None:
    """Its run is to be resumed by it."""
    with pytest.raises(ConfigurationError, match="run r was begun by another program"):
        Setup.read("r", {"tools": 3})
