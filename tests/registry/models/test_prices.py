"""What models charge."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from genai_prices.types import (
    ClauseEquals,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    Tier,
    TieredPrices,
)
from msgspec.structs import replace

from registry.errors import ConfigurationError
from registry.models.names import ModelName
from registry.models.prices import FREE, Price, can_look_up, published, undated
from registry.usage import Usage

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
PRICE = Price(input=Decimal("2.5"), output=Decimal(10), cache_read=Decimal("1.25"), cache_write=Decimal(3))
MUCH = Usage(requests=1, input_tokens=1_000_000, output_tokens=100_000, cache_read_tokens=600_000, cache_write_tokens=100_000)


def per_million(**dollars: int) -> ModelPrice:
    return ModelPrice(**{f"{kind}_mtok": Decimal(price) for kind, price in dollars.items()})


def listed(model: str, prices: ModelPrice | list[ConditionalPrice]) -> ModelInfo:
    return ModelInfo(id=model, match=ClauseEquals(equals=model), prices=prices)


CLIFF = ModelPrice(
    input_mtok=TieredPrices(base=Decimal(1), tiers=[Tier(start=1000, price=Decimal(2))]),
    output_mtok=TieredPrices(base=Decimal(10), tiers=[Tier(start=1000, price=Decimal(20))]),
)
DEARER = [
    ConditionalPrice(prices=per_million(input=1, output=2)),
    ConditionalPrice(prices=per_million(input=3, output=4), constraint=StartDateConstraint(start_date=date(2026, 6, 2))),
]
MODELS = [
    listed("plain", per_million(input=1, output=4)),
    listed("cached", per_million(input=4, output=8, cache_read=1, cache_write=5)),
    listed("thinks", per_million(input=1, output=4, output_reasoning=40)),
    listed("cliff", CLIFF),
    listed("dearer", DEARER),
    listed("with-a-fee", ModelPrice(input_mtok=Decimal(1), output_mtok=Decimal(2), requests_kcount=Decimal(5))),
    listed("gift:free", ModelPrice()),
    listed("untold", ModelPrice()),
    listed("embeds", per_million(input=1)),
]


@pytest.fixture
def list_() -> Iterator[None]:
    """A price list of our own in place of the published one."""
    shop = Provider(id="shop", name="Shop", api_pattern=r"https://shop\.example", models=MODELS)
    set_custom_snapshot(DataSnapshot(providers=[shop], from_auto_update=False))
    yield
    set_custom_snapshot(None)


@pytest.mark.parametrize(
    ("price", "dollars"),
    [
        pytest.param(PRICE, "2.80", id="each part at its own price"),
        pytest.param(replace(PRICE, cache_read=None, cache_write=None), "3.50", id="cached tokens as the rest"),
        pytest.param(replace(PRICE, cache_read=Decimal(0)), "2.05", id="reading the cache for nothing"),
    ],
)
def test_a_price_charges_every_token_once(price: Price, dollars: str) -> None:
    """Cached tokens are part of the input and are not charged twice."""
    assert Decimal(dollars) == price.charge(MUCH)


@pytest.mark.parametrize("amount", [2.5, Decimal(-1), Decimal("nan"), Decimal("inf"), "1"], ids=str)
def test_a_price_is_an_amount_of_money(amount: object) -> None:
    """What isn't one is refused where it is given, and not when the first reply is to be charged."""
    with pytest.raises(ConfigurationError, match=r"cache_read of a price is dollars, such as Decimal\('2\.5'\), and not"):
        replace(PRICE, cache_read=amount)


def test_a_price_of_nothing_is_free() -> None:
    """A price with nothing but noughts needs no tokens to be known."""
    assert Price(input=Decimal(0), output=Decimal(0)).tariff().free
    assert not Price(input=Decimal(0), output=Decimal(0), cache_write=Decimal(1)).tariff().free


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param("gpt-4o-2024-08-06", "gpt-4o", id="dashes"),
        pytest.param("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", id="digits alone"),
        pytest.param("claude-sonnet-4@20250514", "claude-sonnet-4", id="behind an at sign"),
        pytest.param("gpt-4o", "gpt-4o", id="none"),
        pytest.param("gpt-4-0613", "gpt-4-0613", id="no year"),
        pytest.param("m-2024-13-06", "m-2024-13-06", id="no month"),
        pytest.param("2024-08-06", "2024-08-06", id="nothing but a date"),
        pytest.param("m-2024-08-06-x", "m-2024-08-06-x", id="amid the name"),
    ],
)
def test_a_day_is_not_part_of_the_name(model: str, expected: str) -> None:
    """Only a whole date at the end is taken off."""
    assert expected == undated(model)


@pytest.mark.parametrize(
    ("name", "usage", "dollars"),
    [
        pytest.param("plain", MUCH, "1.4", id="no price of their own for cached tokens"),
        pytest.param("cached", MUCH, "3.1", id="cached tokens"),
        pytest.param("thinks", Usage(output_tokens=100_000, reasoning_tokens=60_000), "2.56", id="reasoning"),
        pytest.param("cliff", Usage(input_tokens=1000, output_tokens=1000), "0.011", id="short"),
        pytest.param("cliff", Usage(input_tokens=1001, output_tokens=1000), "0.022002", id="long, and then all of it is dearer"),
        pytest.param("with-a-fee", Usage(), "0.005", id="a fee for the request"),
    ],
)
@pytest.mark.usefixtures("list_")
def test_published_prices(name: str, usage: Usage, dollars: str) -> None:
    """The list's own arithmetic counts: what is cached, thought, and long."""
    tariff = published(ModelName("shop", name), NOON)

    assert tariff is not None
    assert Decimal(dollars) == tariff.charge(usage)


@pytest.mark.parametrize(
    ("seller", "model", "alias"),
    [
        pytest.param("shop", "plain", None, id="a provider's model"),
        pytest.param("https://shop.example/v1", "Plain", None, id="a model at an address"),
        pytest.param("shop", "plain-2026-07-09", "plain", id="a dated name"),
    ],
)
@pytest.mark.usefixtures("list_")
def test_where_a_price_is_found(seller: str, model: str, alias: str | None) -> None:
    """By the provider or its address; another name than the model's own is marked as such."""
    tariff = published(ModelName(seller, model), NOON)

    assert tariff is not None
    assert alias == tariff.alias
    assert (1, 4) == tariff.per_million()


@pytest.mark.parametrize(
    ("seller", "model"),
    [
        pytest.param("shop", "plain-too", id="another model"),
        pytest.param("shop", "", id="no model"),
        pytest.param("elsewhere", "plain", id="another provider"),
        pytest.param("https://elsewhere.example/v1", "plain", id="another address"),
        pytest.param("shop", "untold", id="listed without a price"),
        pytest.param("shop", "embeds", id="listed without a price for what it says"),
    ],
)
@pytest.mark.usefixtures("list_")
def test_what_nobody_has_published_is_unknown(seller: str, model: str) -> None:
    """No price is guessed from another model or endpoint, and no entry without figures is taken for a gift."""
    assert published(ModelName(seller, model), NOON) is None


@pytest.mark.usefixtures("list_")
def test_a_gift_is_free() -> None:
    """A model that is listed as given away costs nothing."""
    tariff = published(ModelName("shop", "gift:free"), NOON)

    assert tariff is not None
    assert (True, 0) == (tariff.free, tariff.charge(MUCH))


@pytest.mark.usefixtures("list_")
def test_prices_have_their_day() -> None:
    """The price is that of the moment of the request."""
    tariffs = [published(ModelName("shop", "dearer"), NOON.replace(day=day)) for day in (1, 2)]

    assert [(1, 2), (3, 4)] == [tariff and tariff.per_million() for tariff in tariffs]


@pytest.mark.usefixtures("list_")
def test_short_requests_are_what_is_shown() -> None:
    """Figures to show leave out fees for the request and what only long ones pay."""
    tariffs = [published(ModelName("shop", name), NOON) for name in ("with-a-fee", "cliff")]

    assert [(1, 2), (1, 10)] == [tariff and tariff.per_million() for tariff in tariffs]
    assert (0, 0) == FREE.per_million()


def test_well_known_models_are_listed() -> None:
    """What the package publishes is found under the names that we use for providers and by their addresses."""
    for name in (ModelName("openai", "gpt-4o"), ModelName("https://api.anthropic.com", "claude-sonnet-4-5")):
        tariff = published(name, NOON)
        assert tariff is not None
        assert not tariff.free


def test_without_the_package_nothing_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is not installed, so prices are unknown and nothing breaks."""
    assert can_look_up()
    monkeypatch.setitem(sys.modules, "genai_prices", None)

    assert not can_look_up()
    assert published(ModelName("openai", "gpt-4o"), NOON) is None


def test_prices_are_looked_up_late_and_offline() -> None:
    """The list is loaded by the first look-up and not by our imports, and never asks the network."""
    code = """
import socket, sys, threading
from datetime import UTC, datetime
import orchestrator.wiring
from registry.models.prices import ModelName, published
assert "genai_prices" not in sys.modules
def refuse(*_): raise AssertionError("network")
socket.socket.connect = socket.getaddrinfo = refuse
assert published(ModelName("openai", "gpt-4o"), datetime.now(UTC)) is not None
print(threading.active_count())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "1" == ran.stdout.strip()
