"""The layers of each model, put together."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, partial

import anyio
from msgspec.structs import replace
from pydantic import SecretStr

from orchestrator.logs import note
from orchestrator.ports import Ports
from orchestrator.settings import KEYS, Settings, read_settings
from orchestrator.wiring.choosing import (
    Chosen,
    abilities_of,
    checked,
    choose,
    has_default_endpoint,
    is_bare,
    provider_of,
    repriced,
    roles_asked,
    spec_of,
    window_of,
)
from orchestrator.wiring.discovery import find_model, first_served
from orchestrator.wiring.pricing import tariff_of
from orchestrator.wiring.providers import EMBEDDED, slots
from registry.anthropic import MAX_OUTPUT, AnthropicModel
from registry.errors import ConfigurationError
from registry.governor.budgeted import CAP, BudgetedModel
from registry.governor.fallback import FallbackModel
from registry.governor.governor import GovernedModel, Governor
from registry.governor.retry import RetryingModel
from registry.http import HttpDoor, address
from registry.local.serve import WINDOW, local_server
from registry.models.model import Abilities, Model
from registry.models.priced import PricedModel
from registry.models.prices import Price
from registry.models.registry import GENERAL, ModelRegistry
from registry.models.specs import ModelSpec
from registry.openai import OpenAIModel

CLOSING = 2.0
"""Seconds that open connections have to close."""

Governors = dict[tuple[str, str], Governor]
"""By endpoint and model."""


@asynccontextmanager
async def wired(
    settings: Settings,
    model_args: Iterable[str] = (),
    ports: Ports | None = None,
    *,
    tell: Callable[[str], None] = lambda _: None,
    door: HttpDoor | None = None,
) -> AsyncGenerator[ModelRegistry, None]:
    """The models of a run, connected for as long as the block lasts. `tell` hears what was found rather than asked for.

    Where nothing names a model, the first one that a server on this machine serves is taken. Raises `ConfigurationError`.
    """
    async with AsyncExitStack() as stack:
        door = door or HttpDoor()
        stack.push_async_callback(_closed, door)
        chosen = choose(settings, await _located(settings, tuple(model_args), door, tell))
        assert chosen is not None, "a located model is a named one"
        embedded = ""
        if any(spec.provider == EMBEDDED for spec in chosen.specs.values()):
            embedded = await stack.enter_async_context(local_server())
        specs = {name: await _completed(spec, embedded, door, tell) for name, spec in chosen.specs.items()}
        yield _registry(replace(chosen, specs=specs), door, ports or Ports())


def connect(
    name: str,
    *,
    api_key: str | SecretStr | None = None,
    base_url: str | None = None,
    abilities: Abilities | None = None,
    context_window: int | None = None,
    max_concurrency: int | None = None,
    requests_per_minute: int | None = None,
    tokens_per_minute: int | None = None,
    max_output: int | None = None,
    thinking: int | None = None,
    price: Price | None = None,
    price_as: str | None = None,
    door: HttpDoor | None = None,
) -> Model:
    """One model for Python programs: `Orchestrator(connect("openai:gpt-4o"))`. Nothing is opened before its first call.

    What is not given comes from the settings. Whoever connects to the same model of an endpoint shares its slots and rates, and
    all of them one HTTP door unless they are given another; it closes when the event loop ends. The embedded model has a server
    to start and stop, so it is to be had from `wired` alone. `price` is what it charges, and `price_as` names a model that
    charges the same, such as `openai:gpt-4o` for one's own deployment of it. Raises `ConfigurationError`.
    """
    key = SecretStr(api_key) if isinstance(api_key, str) else api_key
    settings = read_settings()
    if base_url is not None:  # a key goes to the endpoint it was given for and to no other
        settings = replace(settings, base_url=base_url, keys={})
    if key is not None:
        settings = replace(settings, keys={**settings.keys, **dict.fromkeys(KEYS, key)})
    spec = spec_of(name, settings, elsewhere=base_url is not None)
    _refuse_unconnectable(name, spec, base_url)
    spec = replace(
        spec,
        base_url=base_url or spec.base_url,
        api_key=key or (spec.api_key if base_url is None else None),
        abilities={**spec.abilities, **(abilities or {})},
        context_window=context_window or spec.context_window,
        max_concurrency=max_concurrency or spec.max_concurrency,
        requests_per_minute=requests_per_minute or spec.requests_per_minute,
        tokens_per_minute=tokens_per_minute or spec.tokens_per_minute,
        max_output=max_output or spec.max_output,
        thinking=thinking or spec.thinking,
    )
    spec = checked(repriced(spec, price, price_as))
    ports = Ports()
    return _chained([_governed(name, spec, door or _shared_door(), _shared_governors(), ports)], ports)


def _refuse_unconnectable(name: str, spec: ModelSpec, base_url: str | None) -> None:
    if spec.provider == EMBEDDED and base_url is None:
        raise ConfigurationError("the embedded model needs its server: use `async with wired(settings, ['local']) as models`")
    if not spec.model and spec.provider != EMBEDDED:
        raise ConfigurationError(f"{name!r} names no model of its endpoint; write {name}:MODEL")


async def _located(
    settings: Settings, model_args: tuple[str, ...], door: HttpDoor, tell: Callable[[str], None]
) -> tuple[str, ...]:
    """The arguments, with an endpoint found for each model that has none."""
    if has_default_endpoint(settings):
        return model_args
    asked = [(role, name) for role, names in roles_asked(model_args).items() for name in names]
    if not asked and choose(settings) is None:
        asked = [(GENERAL, "")]
    located = []
    for role, name in asked:
        if is_bare(name, settings):
            found = await find_model(door, name or None)
            tell(f"using {found}, which is served on this machine")
            name = found  # noqa: PLW2901 (from here on, what was found is what was asked for)
        located.append(f"{role}={name}")
    return tuple(located)


async def _completed(spec: ModelSpec, embedded: str, door: HttpDoor, tell: Callable[[str], None]) -> ModelSpec:
    """The spec with everything that only a running server can tell."""
    if spec.provider == EMBEDDED:
        return replace(spec, base_url=embedded, context_window=spec.context_window or WINDOW)
    if spec.model or spec.base_url is None:
        return spec
    model = await first_served(door, spec)
    tell(f"using {model}, the first model that {address(spec.base_url)} serves")
    return replace(spec, model=model)


def _registry(chosen: Chosen, door: HttpDoor, ports: Ports) -> ModelRegistry:
    governors: Governors = {}
    single = {name: _governed(name, spec, door, governors, ports) for name, spec in chosen.specs.items()}
    return ModelRegistry((_chained([single[link] for link in links], ports) for links in chosen.chains.values()), chosen.roles)


def _chained(links: Sequence[Model], ports: Ports) -> Model:
    """The models as one. Of those that are down only the last is waited for: behind it there is nobody."""
    *others, last = links
    hasty = [RetryingModel(link, jitter=ports.jitter, patience=0.0) for link in others]
    patient = RetryingModel(last, jitter=ports.jitter)
    return FallbackModel([*hasty, patient]) if hasty else patient


def _governed(name: str, spec: ModelSpec, door: HttpDoor, governors: Governors, ports: Ports) -> Model:
    """The model with all layers that each of its requests passes."""
    governor = _governor(spec, governors)
    note("model_connected", model=name, endpoint=governor.endpoint, slots=governor.slots)
    priced = PricedModel(_wire(name, spec, door), partial(tariff_of, spec), now=ports.now)
    budgeted = BudgetedModel(
        priced, lambda: tariff_of(spec, "", ports.now()), cap=spec.max_output or CAP, thinking=spec.thinking or 0
    )
    return GovernedModel(budgeted, governor)


def _governor(spec: ModelSpec, governors: Governors) -> Governor:
    """The gate of the model at its endpoint: whoever asks for it first says what it lets through."""
    base_url = spec.base_url or ""
    place = (address(base_url), spec.model)
    if place not in governors:
        governors[place] = Governor(
            place[0],
            spec.max_concurrency or slots(base_url),
            requests_per_minute=spec.requests_per_minute,
            tokens_per_minute=spec.tokens_per_minute,
        )
    return governors[place]


def _wire(name: str, spec: ModelSpec, door: HttpDoor) -> Model:
    """The model at the end of the wire, by the protocol of its provider."""
    provider, base_url, abilities, window = provider_of(spec), spec.base_url or "", abilities_of(spec), window_of(spec)
    match provider.protocol:
        case "anthropic":
            return AnthropicModel(
                name,
                model=spec.model,
                base_url=base_url,
                api_key=spec.api_key,
                door=door,
                abilities=abilities,
                context_window=window,
                max_output=spec.max_output or MAX_OUTPUT,
                thinking=spec.thinking,
            )
        case "openai":
            return OpenAIModel(
                name,
                model=spec.model,
                base_url=base_url,
                api_key=spec.api_key,
                door=door,
                rules=provider.rules,
                abilities=abilities,
                context_window=window,
            )


async def _closed(door: HttpDoor) -> None:
    with anyio.move_on_after(CLOSING, shield=True):
        await door.aclose()


@cache
def _shared_door() -> HttpDoor:
    return HttpDoor()


@cache
def _shared_governors() -> Governors:
    return {}
