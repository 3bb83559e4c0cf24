"""What models charge: prices that the user gives, and the published ones of `genai-prices`, where that is installed.

It comes with the extra `prices`, since it brings an HTTP client that nothing of ours needs. Its prices are part of the package:
it asks the network only for programs that tell it to, and we never do. Without it only the user's own prices are known.
"""

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from importlib.util import find_spec

from msgspec import Struct
from msgspec.structs import asdict

from registry.errors import ConfigurationError
from registry.models.names import ModelName
from registry.usage import NOTHING, Usage

MILLION = 1_000_000

_DATE = re.compile(r"[-@](?:20\d\d)-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])$")
_GIVEN_AWAY = ":free"


class Price(Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens. Without prices of their own, cached tokens cost what the rest of the input does.

    Raises `ConfigurationError` for what is no amount of money, a float too: it would not be the amount that was written.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None

    def __post_init__(self) -> None:
        for name, amount in asdict(self).items():
            if amount is not None and not (isinstance(amount, Decimal) and amount.is_finite() and amount >= 0):
                raise ConfigurationError(f"{name} of a price is dollars, such as Decimal('2.5'), and not {amount!r}")

    def charge(self, usage: Usage) -> Decimal:
        """What these tokens cost."""
        read, written = usage.cache_read_tokens, usage.cache_write_tokens
        parts = (
            (usage.input_tokens - read - written, self.input),
            (read, self.input if self.cache_read is None else self.cache_read),
            (written, self.input if self.cache_write is None else self.cache_write),
            (usage.output_tokens, self.output),
        )
        return sum((tokens * price for tokens, price in parts), NOTHING) / MILLION

    def tariff(self, alias: str | None = None) -> "Tariff":
        """The price as what is charged; `alias` says whose it is, where it is another model's."""
        costly = any((self.input, self.output, self.cache_read, self.cache_write))
        return Tariff(charge=self.charge, alias=alias, free=not costly)


class Tariff(Struct, frozen=True, kw_only=True):
    """How a model's requests are charged. `alias` is the other name that its price stands under, None for its own.

    A `free` one costs nothing, however many tokens there were.
    """

    charge: Callable[[Usage], Decimal]
    alias: str | None = None
    free: bool = False

    def per_million(self) -> tuple[Decimal, Decimal]:
        """Dollars for a million tokens of input and of output, in short requests: long ones may cost more."""
        fee = self.charge(Usage())
        came, went = self.charge(Usage(input_tokens=1)), self.charge(Usage(output_tokens=1))
        return (came - fee) * MILLION, (went - fee) * MILLION


FREE = Tariff(charge=lambda _: NOTHING, free=True)
"""Of models for which nobody is paid."""


def undated(model: str) -> str:
    """The model's name without the day it is of: `gpt-4o` for `gpt-4o-2024-08-06`."""
    return _DATE.sub("", model)


def published(name: ModelName, at: datetime) -> Tariff | None:
    """What a model's provider, or the endpoint at an address, charges at that moment; None when nobody has published it.

    A dated name that is not listed is charged as its undated one.
    """
    for model in dict.fromkeys((name.model, undated(name.model))):
        if tariff := _listed(ModelName(name.provider, model), asked=name.model, at=at):
            return tariff
    return None


def can_look_up() -> bool:
    """Whether the published prices are installed."""
    return find_spec("genai_prices") is not None


def _listed(name: ModelName, *, asked: str, at: datetime) -> Tariff | None:
    try:
        from genai_prices import Usage as Counts
        from genai_prices import calc_price
    except ImportError:
        return None
    try:
        found = (
            calc_price(Counts(), name.model, provider_api_url=name.provider, genai_request_timestamp=at)
            if name.is_address
            else calc_price(Counts(), name.model, provider_id=name.provider, genai_request_timestamp=at)
        )
    except LookupError:
        return None
    prices, listed = found.model_price, found.model.id
    alias, given_away = None if listed.lower() == asked.lower() else listed, listed.endswith(_GIVEN_AWAY)
    if None in (prices.input_mtok, prices.output_mtok) and not given_away:
        return None  # some are listed without their price, which is not a price of nothing

    def charge(usage: Usage) -> Decimal:
        counts = Counts(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_reasoning_tokens=usage.reasoning_tokens,
        )
        return prices.calc_price(counts)["total_price"]

    return Tariff(charge=charge, alias=alias, free=given_away)
