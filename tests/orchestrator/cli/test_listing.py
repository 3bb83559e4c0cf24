"""`dagwright models`: who plays which role."""

from orchestrator.settings import ModelSettings, Settings
from registry.testing import ScriptedModel
from tests.orchestrator.cli.terminal import ScriptedWorld, typed


def test_roles_and_models() -> None:
    """Every role has its model, every model its window and abilities; what has no key is told."""
    model = ScriptedModel([], name="m", context_window=8192, abilities={"json_mode": True, "tool_call": False})
    settings = Settings(models={"big": ModelSettings(provider="openai", api_key_env="BIG_KEY")})

    result = typed("models", world=ScriptedWorld(model, settings))

    rows = [line.split() for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert ["planning", "m"] in rows
    assert ["m", "8,192", "json_mode"] in rows
    assert "big is left out: its key is not set" in result.stderr


def test_nothing_is_known_of_some() -> None:
    """An unknown window is said to be that; so are abilities that are not there."""
    result = typed("models", world=ScriptedWorld(ScriptedModel([], name="m", abilities={})))

    assert ["m", "unknown", "text", "only"] in [line.split() for line in result.stdout.splitlines()]
