"""The commands over the journal, as they are typed."""

import pytest

from tests.orchestrator.cli.terminal import remembers, typed
from tests.orchestrator.cli.view.script import SCRIPT

COMMANDS = ("resume", "pending", "approve", "reject", "answer", "runs", "show", "logs", "tell", "stop", "cancel", "gc")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    """And it is among those of the program."""
    assert 0 == typed(command, "--help").exit_code
    assert f"  {command} " in typed("--help").stdout


@pytest.mark.parametrize("command", ["resume", "approve", "reject", "answer", "show", "logs", "tell", "stop", "cancel"])
def test_a_command_for_one_run_needs_it(command: str) -> None:
    """Nothing is guessed."""
    assert 2 == typed(command, world=remembers({"r1": SCRIPT})).exit_code


def test_fewer_than_none_are_not_kept() -> None:
    """A number that makes no sense is misuse."""
    assert 2 == typed("gc", "--keep", "-1").exit_code
