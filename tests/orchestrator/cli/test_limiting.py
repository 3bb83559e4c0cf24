"""Limits that the command line sets."""

from decimal import Decimal

import pytest

from orchestrator.cli.limiting import MODEST, limits_for, unpriced_for
from orchestrator.cli.options import Options
from orchestrator.limits import Limits
from orchestrator.settings import Settings
from registry.budget import WhenUnpriced
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


def test_what_a_run_may_take() -> None:
    """Options come before the settings file, each by itself."""
    file = Limits(max_requests=5, max_tokens=50)
    options = Options(max_requests=9, max_cost=Decimal("0.5"), max_seconds=2.5)

    assert Limits(max_requests=9, max_tokens=50, max_cost=Decimal("0.5"), max_seconds=2.5) == limits_for(
        Settings(limits=file), options
    )
    assert typed("run", "g", "--max-requests", "0").exit_code == typed("run", "g", "--max-tokens", "none").exit_code == 2


@pytest.mark.parametrize(
    ("file", "option", "expected"),
    [("refuse", False, "refuse"), ("refuse", True, "allow"), ("allow", False, "allow")],
)
def test_models_without_a_price(file: WhenUnpriced, option: bool, expected: str) -> None:
    """They are allowed where the file or the command says so."""
    assert expected == unpriced_for(Settings(unpriced=file), Options(allow_unpriced=option))


def test_rounds() -> None:
    """`--max-rounds` counts plans, of goals and of files."""
    limits = limits_for(Settings(), Options(max_rounds=2))

    assert Limits(rounds=2, submitted_rounds=2) == limits
    assert typed("run", "g", "--max-rounds", "0").exit_code == 2
