"""`dagwright models`: who plays which role, and what each can do."""

import re

import pytest

from orchestrator.settings import ModelSettings, Settings
from registry.errors import Refused, Unauthorized
from registry.governor.fallback import FallbackModel
from registry.messages import Request
from registry.models.model import Model
from registry.testing import Line, ScriptedModel, asks
from tests.orchestrator.cli.terminal import ScriptedWorld, typed


def test_roles_and_models() -> None:
    """Every role has its model, every model its window and abilities; what has no key is told."""
    model = ScriptedModel([], name="m", context_window=8192, abilities={"json_mode": True, "tool_call": False})
    settings = Settings(models={"big": ModelSettings(provider="openai", api_key_env="BIG_KEY")})

    result = typed("models", world=ScriptedWorld(model, settings))

    rows = [line.split() for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert ["planning", "m"] in rows
    assert ["m", "8,192", "json_mode"] in rows
    assert "big is left out: its key is not set" in result.stderr


def test_nothing_is_known_of_some() -> None:
    """An unknown window is said to be that; so are abilities that are not there."""
    result = typed("models", world=ScriptedWorld(ScriptedModel([], name="m", abilities={})))

    assert ["m", "unknown", "text", "only"] in [line.split() for line in result.stdout.splitlines()]


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
