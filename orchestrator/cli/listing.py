"""`dagwright models`: who plays which role."""

from functools import partial

from orchestrator.cli.ending import ACHIEVED, INTERRUPTED, say
from orchestrator.cli.options import Options
from orchestrator.cli.world import World, in_a_loop
from orchestrator.settings import Settings
from registry.models.model import Model
from registry.models.registry import ModelRegistry


def list_models(world: World, options: Options) -> int:
    """Prints roles and models in two tables. Returns the exit code."""
    settings = world.settings(options.config)
    models = in_a_loop(partial(_connected, world, settings, options))
    if models is None:
        say("interrupted")
        return INTERRUPTED
    print("\n".join((*_roles(models), "", *_models(models))))
    for name in settings.models:
        if name not in models.names:
            say(f"{name} is left out: its key is not set")
    return ACHIEVED


async def _connected(world: World, settings: Settings, options: Options) -> ModelRegistry:
    async with world.models(settings, options.models) as models:
        return models


def _roles(models: ModelRegistry) -> list[str]:
    return _table([("role", "model"), *models.roles.items()])


def _models(models: ModelRegistry) -> list[str]:
    return _table([("model", "window", "abilities"), *map(_row, models.models)])


def _row(model: Model) -> tuple[str, str, str]:
    window = "unknown" if model.context_window is None else f"{model.context_window:,}"
    able = ", ".join(name for name, can in model.abilities.items() if can)
    return model.name, window, able or "text only"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
