"""`dagwright models`: who plays which role, what each charges, and what each can really do."""

from collections.abc import Mapping
from functools import partial

from orchestrator.cli.ending import ACHIEVED, INTERRUPTED, NOT_ACHIEVED, say
from orchestrator.cli.options import Options
from orchestrator.cli.view.text import counted, dollars_told, one_line, table
from orchestrator.cli.world import World, in_a_loop
from orchestrator.settings import Settings
from orchestrator.wiring import tariff_named
from registry.governor.fallback import FallbackModel
from registry.models.model import Model
from registry.models.prices import Tariff, can_look_up
from registry.models.probing import PATIENCE, Probed, probe_all
from registry.models.registry import ModelRegistry

PROBED = ("tool_call", "json_mode", "json_schema")


def list_models(world: World, options: Options, *, probing: bool = False) -> int:
    """Prints roles and models in two tables; with `probing`, what the models showed when asked in a third.

    Returns the exit code: probing fails when a model can't be reached.
    """
    settings = world.settings(options.config)
    seen = in_a_loop(partial(_connected, world, settings, options, probing))
    if seen is None:
        say("interrupted")
        return INTERRUPTED
    models, probed = seen
    now = world.ports.now()
    tariffs = {model.name: tariff_named(model.name, settings, now) for model in models.models}
    print("\n".join((*_roles(models), "", *_models(models, tariffs))))
    if None in tariffs.values() and not can_look_up():
        say("published prices are not installed: pip install 'dagwright[prices]'")
    for name in settings.models:
        if name not in models.names:
            say(f"{name} is left out: its key is not set")
    if probed:
        print("\n".join(("", *_probes(probed))))
    return ACHIEVED if all(each.reachable for each in probed) else NOT_ACHIEVED


async def _connected(
    world: World, settings: Settings, options: Options, probing: bool
) -> tuple[ModelRegistry, tuple[Probed, ...]]:
    async with world.models(settings, options.models) as models:
        if not probing:
            return models, ()
        say(f"asking {counted(len(models.models), 'model')}, for {PATIENCE:g} s at most")
        return models, await probe_all(map(_alone, models.models))


def _alone(model: Model) -> Model:
    """The model without those that stand in for it, which would hide that it is down."""
    return model.models[0] if isinstance(model, FallbackModel) else model


def _roles(models: ModelRegistry) -> list[str]:
    return table([("role", "model"), *models.roles.items()])


def _models(models: ModelRegistry, tariffs: Mapping[str, Tariff | None]) -> list[str]:
    rows = (_row(model, tariffs[model.name]) for model in models.models)
    return table([("model", "window", "a million tokens", "abilities"), *rows])


def _row(model: Model, tariff: Tariff | None) -> tuple[str, str, str, str]:
    window = "unknown" if model.context_window is None else f"{model.context_window:,}"
    able = ", ".join(name for name, can in model.abilities.items() if can)
    return model.name, window, _price(tariff), able or "text only"


def _price(tariff: Tariff | None) -> str:
    """What short requests are charged, and by which other model's price."""
    if tariff is None or tariff.free:
        return "unknown" if tariff is None else "free"
    came, went = map(dollars_told, tariff.per_million())
    return f"{came} in, {went} out" + (f" (alias {tariff.alias})" if tariff.alias else "")


def _probes(probed: tuple[Probed, ...]) -> list[str]:
    return table([("model", "reachable", *PROBED, "seconds", "note"), *map(_findings, probed)])


def _findings(probed: Probed) -> tuple[str, ...]:
    abilities = (_ability(probed.can[name], declared=probed.declared.get(name, False)) for name in PROBED)
    notes = one_line("; ".join(probed.notes))
    return probed.model, _answer(probed.reachable), *abilities, f"{probed.seconds:.1f}", notes


def _ability(can: bool | None, *, declared: bool) -> str:
    """What was found, and what was declared where that is something else."""
    return _answer(can) if can is declared else f"{_answer(can)} (declared {_answer(declared)})"


def _answer(yes: bool | None) -> str:
    return "?" if yes is None else "yes" if yes else "no"
