"""What a connected model charges: the settings' word first, then nothing for servers of one's own, then the published prices."""

from datetime import datetime

from msgspec.structs import replace

from orchestrator.settings import Settings
from orchestrator.wiring.choosing import spec_of
from orchestrator.wiring.providers import EMBEDDED, is_here
from registry.errors import ConfigurationError
from registry.http import address
from registry.models.names import ModelName
from registry.models.prices import FREE, Tariff, published
from registry.models.specs import ModelSpec


def tariff_of(spec: ModelSpec, answered: str, at: datetime) -> Tariff | None:
    """The tariff of a reply by the model that calls itself `answered`, at that moment; None when nobody knows it.

    What the settings say holds whoever answered. Otherwise the bill follows who did the work: a router picks a model, and
    `gpt-4o` is answered by the snapshot that it stands for today. Where nobody knows that name's price, or it only shortens
    the one that was asked for, the asked one counts. A server on this machine is taken to be free: one that passes requests on
    to somebody else needs a `price` or `price_as`. A model at an address that nobody has published prices for is unknown,
    whatever it is called.
    """
    if spec.price is not None:
        return spec.price.tariff(alias=None if spec.price_as is None else str(spec.price_as))
    if spec.price_as is not None:
        found = published(spec.price_as, at)
        return None if found is None else replace(found, alias=str(spec.price_as))
    base_url = spec.base_url or ""
    if spec.provider == EMBEDDED or is_here(base_url):
        return FREE
    names = (spec.model,) if spec.model.startswith(answered) else (answered, spec.model)
    tariffs = (published(ModelName(address(base_url), name), at) for name in names)
    return next((tariff for tariff in tariffs if tariff is not None), None)


def tariff_named(name: str, settings: Settings, at: datetime) -> Tariff | None:
    """The tariff of the model that hints call so; None also where that name says too little to know it."""
    try:
        return tariff_of(spec_of(name, settings), "", at)
    except ConfigurationError:
        return None
