"""Which models a run gets."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr

from orchestrator.settings import ModelSettings, PriceSettings, Settings
from orchestrator.wiring.choosing import abilities_of, choose, hints, offered, spec_of, window_of
from registry.errors import ConfigurationError
from registry.models.names import ModelName
from registry.models.specs import ModelSpec

KEY = SecretStr("sk-1")
HOSTED = Settings(keys={"OPENAI_API_KEY": KEY})
ANTHROPIC = Settings(keys={"ANTHROPIC_API_KEY": KEY}, model="gpt-4o")
OWN = Settings(base_url="http://127.0.0.1:9/v1", model="org/model:8b")
FILE = Settings(
    keys={"OPENAI_API_KEY": KEY, "BIG_KEY": SecretStr("sk-2")},
    models={
        "big": ModelSettings(provider="openai", model="gpt-4o", base_url="https://big.example/v1", api_key_env="BIG_KEY"),
        "small": ModelSettings(provider="ollama", model="llama3.2:1b", abilities={"tool_call": False}),
        "locked": ModelSettings(provider="openai", model="gpt-5", api_key_env="NO_KEY"),
    },
    roles={"planning": ("big",), "fast": ("small", "big")},
)


@pytest.mark.parametrize(
    ("settings", "arguments", "roles"),
    [
        pytest.param(HOSTED, [], {"general": "openai:gpt-4.1-mini"}, id="a key alone"),
        pytest.param(ANTHROPIC, [], {"general": "anthropic:claude-sonnet-4-5"}, id="Anthropic's key alone"),
        pytest.param(
            Settings(keys={**HOSTED.keys, **ANTHROPIC.keys}), [], {"general": "openai:gpt-4.1-mini"}, id="both providers' keys"
        ),
        pytest.param(
            Settings(keys=ANTHROPIC.keys, base_url="http://127.0.0.1:9/v1"),
            [],
            {"general": "openai"},
            id="Anthropic's key, but an endpoint of one's own",
        ),
        pytest.param(
            ANTHROPIC,
            ["planning=local"],
            {"general": "anthropic:claude-sonnet-4-5", "planning": "local"},
            id="Anthropic's and a role",
        ),
        pytest.param(OWN, [], {"general": "openai:org/model:8b"}, id="an endpoint of one's own"),
        pytest.param(HOSTED, ["local"], {"general": "local"}, id="a plain name"),
        pytest.param(HOSTED, ["gpt-4o"], {"general": "gpt-4o"}, id="a bare model"),
        pytest.param(HOSTED, ["planning=local"], {"general": "openai:gpt-4.1-mini", "planning": "local"}, id="one role"),
        pytest.param(HOSTED, ["http://h/v1?a=b#m"], {"general": "http://h/v1?a=b#m"}, id="an address with an equals sign"),
        pytest.param(FILE, [], {"general": "big", "planning": "big", "fast": "small"}, id="the file's roles"),
        pytest.param(FILE, ["small"], {"general": "small"}, id="a plain name sets the file's roles aside"),
        pytest.param(
            FILE, ["fast=big"], {"general": "big", "planning": "big", "fast": "big"}, id="a role's name changes that role"
        ),
    ],
)
def test_roles(settings: Settings, arguments: list[str], roles: dict[str, str]) -> None:
    """Arguments come before the file, the file before the environment."""
    chosen = choose(settings, arguments)

    assert chosen is not None
    assert roles == chosen.roles


def test_nothing_named_means_nothing_chosen() -> None:
    """Without key, address, file and argument it is for somebody else to look for a model."""
    assert choose(Settings()) is None


@pytest.mark.parametrize(
    ("arguments", "chain"),
    [
        pytest.param(["a:b", "local"], None, id="unknown provider"),
        pytest.param(["local", "openai:gpt-4o"], ("local", "openai:gpt-4o"), id="a second one is the fallback"),
        pytest.param(["fast=local", "local", "openai:gpt-4o"], ("local", "openai:gpt-4o"), id="of one model, the longest chain"),
    ],
)
def test_fallbacks(arguments: list[str], chain: tuple[str, ...] | None) -> None:
    """A role named twice has a model to fall back on."""
    if chain is None:
        with pytest.raises(ConfigurationError, match="no provider named 'a'"):
            choose(HOSTED, arguments)
        return

    chosen = choose(HOSTED, arguments)

    assert chosen is not None
    assert chain == chosen.chains[chain[0]]


def test_a_model_without_its_key_is_left_out_until_somebody_asks_for_it() -> None:
    """The file may hold models that can't be had here; only using one is an error, which names the variable."""
    chosen = choose(FILE)

    assert chosen is not None
    assert set(chosen.specs) == {"big", "small"}
    with pytest.raises(ConfigurationError, match="'locked' needs a key: set the environment variable NO_KEY"):
        choose(FILE, ["locked"])


@pytest.mark.parametrize(
    ("settings", "name", "expected"),
    [
        pytest.param(
            HOSTED,
            "openai:gpt-4o",
            ModelSpec(provider="openai", model="gpt-4o", base_url="https://api.openai.com/v1", api_key=KEY),
            id="hosted",
        ),
        pytest.param(
            HOSTED,
            "ollama:llama3.2:1b",
            ModelSpec(provider="ollama", model="llama3.2:1b", base_url="http://127.0.0.1:11434/v1"),
            id="a server on this machine gets no key",
        ),
        pytest.param(
            HOSTED,
            "http://h:1/v1#m",
            ModelSpec(provider="http://h:1/v1", model="m", base_url="http://h:1/v1"),
            id="an address gets no key",
        ),
        pytest.param(
            OWN, "gpt-4o", ModelSpec(provider="openai", model="gpt-4o", base_url="http://127.0.0.1:9/v1"), id="own endpoint"
        ),
        pytest.param(
            FILE,
            "big",
            ModelSpec(provider="openai", model="gpt-4o", base_url="https://big.example/v1", api_key=SecretStr("sk-2")),
            id="the file's, with its own key",
        ),
    ],
)
def test_specs(settings: Settings, name: str, expected: ModelSpec) -> None:
    """What a name stands for."""
    assert expected == spec_of(name, settings)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("openai:gpt-4o", "needs a key: set the environment variable OPENAI_API_KEY", id="no key"),
        pytest.param("olama:x", "no provider named 'olama'; did you mean 'ollama'?", id="misspelt"),
        pytest.param("a b:c", "names no model", id="no name"),
    ],
)
def test_names_that_lead_nowhere(name: str, told: str) -> None:
    """The sentence says what to set or what there is."""
    with pytest.raises(ConfigurationError, match=told):
        spec_of(name, Settings())


def test_an_argument_without_a_name_is_refused() -> None:
    """`--model planning=` says nothing."""
    with pytest.raises(ConfigurationError, match="'planning=' names no model"):
        choose(HOSTED, ["planning="])


@pytest.mark.parametrize(
    ("settings", "name", "abilities", "window"),
    [
        pytest.param(HOSTED, "openai:gpt-4o", {"tool_call", "json_mode", "json_schema"}, 128_000, id="known"),
        pytest.param(OWN, "gpt-4o", {"tool_call", "json_mode"}, 128_000, id="behind an endpoint of one's own"),
        pytest.param(HOSTED, "http://h/v1#gpt-4o", {"tool_call", "json_mode"}, None, id="at an address"),
        pytest.param(FILE, "small", {"json_mode", "json_schema"}, None, id="the file knows better"),
    ],
)
def test_abilities(settings: Settings, name: str, abilities: set[str], window: Any) -> None:
    """What is known of a model holds where its provider serves it; another endpoint is only taken for a compatible one."""
    spec = spec_of(name, settings)

    assert abilities == {ability for ability, can in abilities_of(spec).items() if can}
    assert window == window_of(spec)


def test_hints_need_no_keys() -> None:
    """A plan may be checked where none of its models can be had."""
    assert {"planning", "fast", "big", "locked", "mine", "local"} <= set(hints(FILE, ["mine=local"]))


ONE_FOUR = PriceSettings(input=Decimal(1), output=Decimal(4))
PRICED = Settings(
    keys={"OPENAI_API_KEY": KEY},
    models={
        "own": ModelSettings(provider="openai", model="gpt-x", price=ONE_FOUR),
        "mapped": ModelSettings(provider="openai", model="my-deployment", price_as="openai:gpt-4o"),
        "elsewhere": ModelSettings(provider="openai", model="gpt-y", base_url="http://127.0.0.1:9/v1", price=ONE_FOUR),
    },
)


@pytest.mark.parametrize(
    ("name", "price", "price_as"),
    [
        pytest.param("own", 1, None, id="the file's model"),
        pytest.param("openai:gpt-x", 1, None, id="the same model by its own name"),
        pytest.param("gpt-x-2026-07-09", 1, ModelName("openai", "gpt-x"), id="the same but for its day"),
        pytest.param("mapped", None, ModelName("openai", "gpt-4o"), id="mapped"),
        pytest.param("openai:gpt-y", None, None, id="a price at another endpoint"),
        pytest.param("openai:gpt-4o", None, None, id="nothing said"),
    ],
)
def test_prices_of_the_file(name: str, price: int | None, price_as: ModelName | None) -> None:
    """A price counts for its model at its endpoint, whatever name or day it is asked for by."""
    spec = spec_of(name, PRICED)

    assert (price, price_as) == (spec.price and spec.price.input, spec.price_as)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        pytest.param(
            ModelSettings(provider="openai", model="m", thinking=2048),
            "openai:m takes no thinking; only models of anthropic do",
            id="no thinking",
        ),
        pytest.param(ModelSettings(provider="ollama", model="m", max_output=1), "ollama:m takes no max_output", id="no cap"),
        pytest.param(
            ModelSettings(provider="anthropic", model="m", thinking=1023),
            "thinking of anthropic:m must be 1024 tokens at least, not 1023",
            id="too little thinking",
        ),
        pytest.param(
            ModelSettings(provider="openai", model="m", price=ONE_FOUR, price_as="openai:gpt-4o"),
            "openai:m has both a price and a price_as",
            id="two prices",
        ),
        pytest.param(ModelSettings(provider="openai", model="m", price_as="gpt-4o"), "write provider:model", id="half a name"),
    ],
)
def test_settings_that_can_not_be_are_refused(model: ModelSettings, told: str) -> None:
    """The sentence names the model, the setting, and who takes it."""
    with pytest.raises(ConfigurationError, match=told):
        choose(Settings(keys=HOSTED.keys, models={"x": model}))


@pytest.mark.parametrize(
    ("settings", "arguments", "expected"),
    [
        pytest.param(
            FILE, [], {"planning": "gpt-4o", "fast": "llama3.2:1b", "general": "gpt-4o", "locked": "gpt-5"}, id="the file's"
        ),
        pytest.param(FILE, ["small"], {"planning": "llama3.2:1b", "fast": "llama3.2:1b", "big": "gpt-4o"}, id="one for all"),
        pytest.param(Settings(), ["openai:gpt-4o"], {"general": "gpt-4o", "openai:gpt-4o": "gpt-4o"}, id="without its key"),
    ],
)
def test_what_hints_stand_for(settings: Settings, arguments: list[str], expected: dict[str, str]) -> None:
    """Every hint has its model, also where nobody could ask it now."""
    found = offered(settings, arguments)

    assert expected == {hint: found[hint].spec.model for hint in expected}
    assert set(hints(settings, arguments)) == set(found)
    assert found["general"].abilities == abilities_of(found["general"].spec)


def test_what_is_offered_has_the_name_that_it_will_have() -> None:
    """The first model of a hint's chain: what earlier runs say of it is found under that name."""
    arguments = ["fast=small", "fast=local", "openai:gpt-4o"]
    chosen, found = choose(FILE, arguments), offered(FILE, arguments)

    assert ("small", "openai:gpt-4o", "openai:gpt-4o") == tuple(found[hint].name for hint in ("fast", "general", "planning"))
    assert chosen is not None
    assert dict(chosen.roles).items() <= {hint: each.name for hint, each in found.items()}.items()


def test_hints_that_lead_nowhere() -> None:
    """Where no model is named at all, or by a provider that there isn't, nothing is offered."""
    assert {} == offered(Settings())
    assert "x" not in offered(Settings(roles={"x": ("nix:nix",)}), ["local"])
