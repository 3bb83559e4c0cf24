"""Which models a run is to have, decided before anything is connected."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from orchestrator.settings import ModelSettings, Settings
from orchestrator.wiring.providers import DEFAULT, PROVIDERS, Provider
from registry.errors import ConfigurationError, there_are
from registry.models.abilities import known
from registry.models.model import Abilities
from registry.models.names import ModelName, parse_model_name
from registry.models.prices import Price, undated
from registry.models.registry import GENERAL, ROLES
from registry.models.specs import ModelSpec

LEAST_THINKING = 1024
"""Tokens; providers take no smaller allowance."""


class Chosen(Struct, frozen=True, kw_only=True):
    """`specs` go by the name that hints use. `chains` are the models in the order they are tried, by the first one's name.

    `roles` says which of them plays each role.
    """

    specs: Mapping[str, ModelSpec]
    chains: Mapping[str, tuple[str, ...]]
    roles: Mapping[str, str]


def choose(settings: Settings, model_args: Iterable[str] = ()) -> Chosen | None:
    """The models of a run; None when nothing names one.

    Each argument is `NAME` or `role=NAME`, and a role that comes twice has a model to fall back on. A plain NAME plays every
    role that no other argument gives away. Without one, the file's roles hold, and then its first model, or else the
    default endpoint's, or else that of another provider whose key is set, is the general one. Raises `ConfigurationError`
    for a name that leads nowhere.
    """
    wanted = roles_asked(model_args)
    if GENERAL not in wanted:
        wanted = {**settings.roles, **wanted}
        general = wanted.pop(GENERAL, None) or _general(settings)
        wanted = {GENERAL: general, **wanted} if general else wanted
    if not wanted:
        return None
    chains: dict[str, tuple[str, ...]] = {}
    for names in wanted.values():
        chains[names[0]] = max(chains.get(names[0], ()), names, key=len)
    specs = {name: spec_of(name, settings) for names in wanted.values() for name in names} | _spare(settings)
    return Chosen(
        specs=specs,
        chains={name: chains.get(name, (name,)) for name in specs},
        roles={role: names[0] for role, names in wanted.items()},
    )


def hints(settings: Settings, model_args: Iterable[str] = ()) -> tuple[str, ...]:
    """Every role and name that a plan may ask for with these settings, whether or not the models can be had."""
    asked = roles_asked(model_args)
    named = (name for names in (*settings.roles.values(), *asked.values()) for name in names)
    return tuple(dict.fromkeys((*ROLES, *settings.roles, *asked, *settings.models, *named, *(_general(settings) or ()))))


class Offered(Struct, frozen=True, kw_only=True):
    """A model that a hint stands for, before anything is connected, and the name that it will have."""

    name: str
    spec: ModelSpec
    abilities: Abilities
    context_window: int | None


def offered(settings: Settings, model_args: Iterable[str] = ()) -> dict[str, Offered]:
    """What each of the `hints` stands for, also where its key is not set. One that leads nowhere is left out."""
    wanted = roles_asked(model_args)
    wanted = wanted if GENERAL in wanted else {**settings.roles, **wanted}
    general = wanted.get(GENERAL) or _general(settings)
    found = {}
    for hint in hints(settings, model_args):
        names = wanted.get(hint) or (general if hint in ROLES else None if hint in settings.roles else (hint,))
        try:
            spec = spec_of(names[0], settings, elsewhere=True) if names else None
        except ConfigurationError:
            spec = None
        if names and spec is not None:
            found[hint] = Offered(name=names[0], spec=spec, abilities=abilities_of(spec), context_window=window_of(spec))
    return found


def roles_asked(model_args: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The models that the arguments give each role, in their order."""
    asked: dict[str, tuple[str, ...]] = {}
    for argument in model_args:
        role, name = _split(argument)
        if not name:
            raise ConfigurationError(f"{argument!r} names no model; write NAME or role=NAME")
        asked[role] = (*asked.get(role, ()), name)
    return asked


def spec_of(name: str, settings: Settings, *, elsewhere: bool = False) -> ModelSpec:
    """What a model's name stands for: one of the file's, `provider:model`, an address, or a model of the default endpoint.

    A model that is to be asked `elsewhere` than at its provider's endpoint may do without the provider's key.
    """
    if name in settings.models:
        spec = _of_file(settings.models[name], settings)
    elif is_bare(name, settings):
        spec = _of_provider(ModelName(DEFAULT, name), settings)
    else:
        parsed = parse_model_name(name)
        spec = _of_address(parsed) if parsed.is_address else _of_provider(parsed, settings)
    if not elsewhere and spec.api_key is None and (variable := _key_needed(name, spec, settings)):
        raise ConfigurationError(f"the model {name!r} needs a key: set the environment variable {variable}")
    return spec if elsewhere else _priced_as_kin(spec, settings)


def repriced(spec: ModelSpec, price: Price | None, price_as: str | None) -> ModelSpec:
    """The spec with a price of its own, or with another model's; as it was where neither is given."""
    if price is None and price_as is None:
        return spec
    if price is not None and price_as is not None:
        raise ConfigurationError(f"{spec.name} has both a price and a price_as; give one of them")
    other = None if price_as is None else parse_model_name(price_as)
    if other is not None and not other.model:
        raise ConfigurationError(f"price_as of {spec.name} names no model; write provider:model, such as openai:gpt-4o")
    return replace(spec, price=price, price_as=other)


def checked(spec: ModelSpec) -> ModelSpec:
    """The spec, or a `ConfigurationError` when it has a setting that its provider does not take."""
    for setting, value in (("max_output", spec.max_output), ("thinking", spec.thinking)):
        if value is not None and provider_of(spec).protocol != "anthropic":
            raise ConfigurationError(f"{spec.name} takes no {setting}; only models of anthropic do")
    if spec.thinking is not None and spec.thinking < LEAST_THINKING:
        raise ConfigurationError(f"thinking of {spec.name} must be {LEAST_THINKING} tokens at least, not {spec.thinking}")
    return spec


def is_bare(name: str, settings: Settings) -> bool:
    """Whether it is a model's own name alone, so that the endpoint is anybody's guess."""
    return ":" not in name and name.lower() not in PROVIDERS and name not in settings.models


def has_default_endpoint(settings: Settings) -> bool:
    """Whether the environment names an endpoint, by its key or its address."""
    return settings.base_url is not None or PROVIDERS[DEFAULT].key in settings.keys


def provider_of(spec: ModelSpec) -> Provider:
    """The row of the spec's provider. An endpoint of one's own is only taken for a compatible one."""
    row = PROVIDERS.get(spec.provider)
    if row is None or (spec.provider == DEFAULT and spec.base_url not in (None, row.base_url)):
        return Provider(title=spec.provider, base_url=spec.base_url or "")
    return row


def abilities_of(spec: ModelSpec) -> Abilities:
    """What the model can do: what is known of it, and over that what the settings say."""
    whose = spec.provider if provider_of(spec) is PROVIDERS.get(spec.provider) else "another"
    return {**known(ModelName(whose, spec.model)).abilities, **spec.abilities}


def window_of(spec: ModelSpec) -> int | None:
    """The model's context window in tokens, None when unknown."""
    return spec.context_window or known(ModelName(spec.provider, spec.model)).context_window


def _split(argument: str) -> tuple[str, str]:
    """Role and name. An address may hold an equals sign, but only behind a colon."""
    before, equals, after = argument.partition("=")
    return (before.strip(), after.strip()) if equals and ":" not in before else (GENERAL, argument.strip())


def _general(settings: Settings) -> tuple[str, ...] | None:
    if settings.models:
        return (next(iter(settings.models)),)
    if has_default_endpoint(settings):
        model = settings.model or ("" if settings.base_url else PROVIDERS[DEFAULT].model)
        return (str(ModelName(DEFAULT, model)),)
    keyed = (ModelName(name, row.model) for name, row in PROVIDERS.items() if row.key in settings.keys)
    return next(((str(name),) for name in keyed), None)


def _of_address(name: ModelName) -> ModelSpec:
    return ModelSpec(provider=name.provider, model=name.model, base_url=name.provider)


def _of_file(model: ModelSettings, settings: Settings) -> ModelSpec:
    usual = _of_provider(ModelName(model.provider.lower(), model.model), settings)
    own_key = settings.keys.get(model.api_key_env) if model.api_key_env else None
    spec = ModelSpec(
        provider=usual.provider,
        model=usual.model,
        base_url=model.base_url or usual.base_url,
        # A key goes to the endpoint it was given for and to no other.
        api_key=usual.api_key if model.base_url is None and model.api_key_env is None else own_key,
        abilities={name: able for name, able in model.abilities.items()},
        context_window=model.context_window,
        max_concurrency=model.max_concurrency,
        requests_per_minute=model.requests_per_minute,
        tokens_per_minute=model.tokens_per_minute,
        max_output=model.max_output,
        thinking=model.thinking,
    )
    return checked(repriced(spec, model.own_price, model.price_as))


def _priced_as_kin(spec: ModelSpec, settings: Settings) -> ModelSpec:
    """With the price that the file gives to a model of the same endpoint and name, or of the same name but for its day."""
    if spec.price is not None or spec.price_as is not None:
        return spec
    priced = [_of_file(model, settings) for model in settings.models.values() if model.price is not None]
    own = {kin.model: kin for kin in priced if kin.base_url == spec.base_url}
    for name in (spec.model, undated(spec.model)):
        if kin := own.get(name):
            return replace(spec, price=kin.price, price_as=None if name == spec.model else ModelName(kin.provider, name))
    return spec


def _of_provider(name: ModelName, settings: Settings) -> ModelSpec:
    row = PROVIDERS.get(name.provider)
    if row is None:
        raise ConfigurationError(f"no provider named {name.provider!r}; {there_are(name.provider, PROVIDERS)}")
    elsewhere = settings.base_url if name.provider == DEFAULT else None
    return ModelSpec(
        provider=name.provider,
        model=name.model or ("" if elsewhere else row.model),
        base_url=elsewhere or row.base_url,
        api_key=settings.keys.get(row.key) if row.key else None,
    )


def _key_needed(name: str, spec: ModelSpec, settings: Settings) -> str | None:
    """The environment variable that the model can't do without."""
    if name in settings.models and settings.models[name].api_key_env:
        return settings.models[name].api_key_env
    row = PROVIDERS.get(spec.provider)
    return row.key if row is not None and spec.base_url == row.base_url else None


def _spare(settings: Settings) -> dict[str, ModelSpec]:
    """The file's models that can be had, whether or not they have a role: a plan may name them."""
    specs = {}
    for name, model in settings.models.items():
        spec = _of_file(model, settings)
        if spec.api_key is not None or _key_needed(name, spec, settings) is None:
            specs[name] = spec
    return specs
