"""Limits that the command line sets."""

import pytest

from orchestrator.cli.limiting import MODEST, limits_for
from orchestrator.cli.options import Options
from orchestrator.limits import Limits
from orchestrator.settings import Settings
from tests.orchestrator.cli.terminal import typed


@pytest.mark.parametrize(
    ("models", "limits", "expected"),
    [
        pytest.param(("local",), Limits(), MODEST, id="the embedded model alone"),
        pytest.param(("planning=local", "local"), Limits(), MODEST, id="in every role"),
        pytest.param(("planning=local", "openai:x"), Limits(), Limits(), id="beside another"),
        pytest.param((), Limits(), Limits(), id="nobody asked for it"),
        pytest.param(("local",), Limits(rounds=2), Limits(rounds=2), id="the file says otherwise"),
    ],
)
def test_limits(models: tuple[str, ...], limits: Limits, expected: Limits) -> None:
    """The embedded model gets modest limits, unless the settings file has its own."""
    assert expected == limits_for(Settings(limits=limits), Options(models=models))


def test_rounds() -> None:
    """`--max-rounds` counts plans, of goals and of files."""
    limits = limits_for(Settings(), Options(max_rounds=2))

    assert Limits(rounds=2, submitted_rounds=2) == limits
    assert typed("run", "g", "--max-rounds", "0").exit_code == 2
