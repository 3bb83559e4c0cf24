"""`dagwright models`: who plays which role, and what each can do."""

import re
import sys
from decimal import Decimal

import pytest
from pydantic import SecretStr

from orchestrator.settings import ModelSettings, PriceSettings, Settings
from registry.errors import Refused, Unauthorized
from registry.governor.fallback import FallbackModel
from registry.messages import Request
from registry.models.model import Model
from registry.testing import Line, ScriptedModel, asks
from tests.orchestrator.cli.terminal import ScriptedWorld, typed


def test_roles_and_models() -> None:
    """Every role has its model, every model its window, price and abilities; what has no key is told."""
    model = ScriptedModel([], name="m", context_window=8192, abilities={"json_mode": True, "tool_call": False})
    settings = Settings(models={"big": ModelSettings(provider="openai", api_key_env="BIG_KEY")})

    result = typed("models", world=ScriptedWorld(model, settings))

    rows = [line.split() for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert ["planning", "m"] in rows
    assert ["m", "8,192", "unknown", "json_mode"] in rows
    assert "big is left out: its key is not set" in result.stderr


def test_nothing_is_known_of_some() -> None:
    """An unknown window is said to be that, and an unknown price; so are abilities that are not there."""
    result = typed("models", world=ScriptedWorld(ScriptedModel([], name="m", abilities={})))

    assert ["m", "unknown", "unknown", "text", "only"] in [line.split() for line in result.stdout.splitlines()]
    assert "not installed" not in result.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("ollama:m", "free", id="on this machine"),
        pytest.param("own", "$2.50 in, $10.00 out", id="the settings' own"),
        pytest.param("openai:gpt-4o-2099-01-01", "$2.50 in, $10.00 out (alias gpt-4o)", id="under another name"),
        pytest.param("azure:mine", "unknown", id="unheard of"),
    ],
)
def test_what_a_million_tokens_cost(name: str, told: str) -> None:
    """Input and output apart, and whose price it is where it is another model's."""
    own = ModelSettings(provider="openai", model="x", price=PriceSettings(input=Decimal("2.5"), output=Decimal(10)))
    settings = Settings(keys={"OPENAI_API_KEY": SecretStr("sk-1")}, models={"own": own})

    result = typed("models", world=ScriptedWorld(ScriptedModel([], name=name), settings))

    assert any(
        re.match(rf"{re.escape(name)} +unknown +{re.escape(told)} +tool_call", line) for line in result.stdout.splitlines()
    )


def test_where_prices_come_from_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A price that is unknown because none are installed says what to install; one that is known says nothing."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)

    told = [typed("models", world=ScriptedWorld(ScriptedModel([], name=name))).stderr for name in ("openai:gpt-4o", "ollama:m")]

    assert ["dagwright: published prices are not installed: pip install 'dagwright[prices]'\n", ""] == told


def shows(*, name: str = "m", tools: bool = True) -> ScriptedModel:
    """A model that shows its abilities when asked, with tools or without."""

    def reply(request: Request) -> Line:
        if request.tools:
            return asks("note_word", word="tide") if tools else Refused("here", "no tools\nhere")
        return '{"word": "tide"}' if request.response_format and not request.response_format.schema else "Yes"

    return ScriptedModel(reply, name=name, abilities={"tool_call": True})


def down() -> ScriptedModel:
    return ScriptedModel(lambda _: Unauthorized("here", "wrong key"), name="down", abilities={"tool_call": True})


def test_probing_shows_what_is_so_beside_what_was_said() -> None:
    """One line a model: what it showed, what was declared where that is something else, and why."""
    result = typed("models", "--probe", world=ScriptedWorld(shows(tools=False)))

    line = result.stdout.splitlines()[-1]
    assert 0 == result.exit_code
    assert re.match(
        r"m +yes +no \(declared yes\) +yes \(declared no\) +no +\d\.\d +tool_call: here refused .* no tools here; ", line
    )
    assert "asking 1 model" in result.stderr


def test_what_is_as_declared_needs_no_words() -> None:
    """Yes and no alone, then."""
    result = typed("models", "--probe", world=ScriptedWorld(shows()))

    assert ["m", "yes", "yes", "yes"] == result.stdout.splitlines()[-1].split()[:4]


@pytest.mark.parametrize(
    "model",
    [pytest.param(down(), id="alone"), pytest.param(FallbackModel([down(), shows()]), id="though-another-stands-in")],
)
def test_a_model_that_is_down_fails_the_probe(model: Model) -> None:
    """Exit code 1, and the error's sentence in the table; what it can do, nobody can say."""
    result = typed("models", "--probe", world=ScriptedWorld(model))

    line = result.stdout.splitlines()[-1]
    assert 1 == result.exit_code
    assert re.match(r"down +no +\? \(declared yes\) +\? \(declared no\) +", line)
    assert line.endswith("here did not accept the credentials: wrong key")


def test_without_probing_nobody_is_asked() -> None:
    """Listing alone sends no request."""
    model = shows()

    result = typed("models", world=ScriptedWorld(model))

    assert (0, []) == (result.exit_code, model.requests)
    assert "reachable" not in result.stdout
