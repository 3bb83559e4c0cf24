"""Whose price counts."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pydantic import SecretStr

from orchestrator.settings import ModelSettings, Settings
from orchestrator.wiring.pricing import tariff_named, tariff_of
from registry.models.names import ModelName
from registry.models.prices import Price
from registry.models.specs import ModelSpec

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
OPENAI, ROUTER = "https://api.openai.com/v1", "https://openrouter.ai/api/v1"
OWN = Price(input=Decimal(7), output=Decimal(8))
GPT_4O, GPT_4O_OF_MAY, MINI = (2.5, 10), (5, 15), (Decimal("0.15"), Decimal("0.6"))


def spec(
    model: str, base_url: str | None = OPENAI, *, price: Price | None = None, price_as: ModelName | None = None
) -> ModelSpec:
    return ModelSpec(provider="openai", model=model, base_url=base_url, price=price, price_as=price_as)


@pytest.mark.parametrize(
    ("asked", "answered", "expected"),
    [
        pytest.param(spec("gpt-4o"), "", GPT_4O, id="nobody said who answered"),
        pytest.param(spec("gpt-4o"), "gpt-4o-2024-05-13", GPT_4O_OF_MAY, id="the snapshot that answered"),
        pytest.param(spec("gpt-4o-2024-05-13"), "gpt-4o", GPT_4O_OF_MAY, id="an answer that only shortens the name"),
        pytest.param(spec("gpt-4o"), "gw/unheard-of", GPT_4O, id="nobody knows who answered"),
        pytest.param(spec("openrouter/auto", ROUTER), "openai/gpt-4o-mini", MINI, id="a router's choice"),
        pytest.param(spec("openrouter/auto", ROUTER), "", None, id="a router that doesn't say"),
        pytest.param(spec("gpt-4o", "https://mine.example/v1"), "gpt-4o", None, id="a known name at an unknown address"),
        pytest.param(spec("gpt-4o", price=OWN), "gpt-4o-mini", (7, 8), id="the settings' own, whoever answered"),
        pytest.param(
            spec("mine", "https://mine.example/v1", price_as=ModelName("openai", "gpt-4o")), "x", GPT_4O, id="another's price"
        ),
        pytest.param(spec("mine", price_as=ModelName("openai", "mine-too")), "gpt-4o", None, id="an unknown other's"),
        pytest.param(spec("m", "http://127.0.0.1:1/v1"), "gpt-4o", (0, 0), id="on this machine"),
        pytest.param(spec("m", "http://localhost:1/v1", price=OWN), "", (7, 8), id="a gateway on this machine"),
        pytest.param(ModelSpec(provider="local"), "", (0, 0), id="the embedded model"),
    ],
)
def test_whose_price_counts(asked: ModelSpec, answered: str, expected: tuple[object, object] | None) -> None:
    """The settings' word, then nothing on this machine, then who answered, then who was asked; else unknown."""
    tariff = tariff_of(asked, answered, NOON)

    assert expected == (tariff and tariff.per_million())


@pytest.mark.parametrize(
    ("asked", "alias"),
    [
        pytest.param(spec("gpt-4o"), None, id="its own"),
        pytest.param(spec("gpt-4o-2099-01-01"), "gpt-4o", id="the undated name's"),
        pytest.param(spec("mine", price_as=ModelName("openai", "gpt-4o")), "openai:gpt-4o", id="the one that settings name"),
        pytest.param(spec("x", price=OWN, price_as=ModelName("openai", "y")), "openai:y", id="the price of its kin"),
    ],
)
def test_a_price_under_another_name_is_marked(asked: ModelSpec, alias: str | None) -> None:
    """Whoever shows a price can say that it is another model's."""
    tariff = tariff_of(asked, "", NOON)

    assert tariff is not None
    assert alias == tariff.alias


def test_prices_by_the_name_of_a_hint() -> None:
    """A name goes by the settings; one that says too little has no price."""
    settings = Settings(
        keys={"OPENAI_API_KEY": SecretStr("sk-1")},
        models={"mine": ModelSettings(provider="openai", model="m", price_as="openai:gpt-4o")},
    )
    tariffs = [tariff_named(name, settings, NOON) for name in ("mine", "openai:gpt-4o", "ollama:x", "nonesuch:x")]

    assert [GPT_4O, GPT_4O, (0, 0), None] == [tariff and tariff.per_million() for tariff in tariffs]
