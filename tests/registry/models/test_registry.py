"""A hint finds its model, by role or by name."""

import pytest

from registry.errors import ConfigurationError, UnknownModel
from registry.models.layer import ModelLayer
from registry.models.registry import ROLES, ModelRegistry
from registry.testing import ScriptedModel

BIG, SMALL = ScriptedModel([], name="openai:big"), ScriptedModel([], name="local:small")


@pytest.mark.parametrize("hint", [None, *ROLES, "openai:big"])
def test_one_model_plays_every_role(hint):
    """With a single model every hint that is known leads to it."""
    assert BIG is ModelRegistry(BIG).model(hint)


@pytest.mark.parametrize(
    ("hint", "model"),
    [
        pytest.param("fast", SMALL, id="role"),
        pytest.param("critic", SMALL, id="own-role"),
        pytest.param("planning", BIG, id="role-nobody-has"),
        pytest.param(None, BIG, id="no-hint"),
        pytest.param("local:small", SMALL, id="name"),
    ],
)
def test_roles_point_at_names(hint, model):
    """Roles given by name are resolved; the others fall back to the first model."""
    registry = ModelRegistry([BIG, SMALL], {"fast": "local:small", "critic": "local:small"})

    assert model is registry.model(hint)


def test_roles_fall_back_to_general():
    """A role that nobody plays is played by `general`, where that is given."""
    registry = ModelRegistry([BIG, SMALL], {"general": "local:small"})

    assert dict.fromkeys(ROLES, "local:small") == registry.roles


def test_the_keys_of_a_mapping_are_roles():
    """A mapping casts models directly, even two that share a name."""
    first, second = ScriptedModel([]), ScriptedModel([])
    registry = ModelRegistry({"planning": first, "general": second})

    assert (first, second, second) == (registry.model("planning"), registry.model("general"), registry.model("fast"))


def test_a_mapping_without_general_falls_back_to_its_first():
    """The first model of a mapping plays what nobody plays."""
    assert BIG is ModelRegistry({"planning": BIG, "fast": SMALL}).model()


def test_everything_it_knows_is_listed():
    """Names, hints and models are told in order, each once."""
    registry = ModelRegistry([BIG, SMALL], {"critic": "openai:big"})

    assert ("openai:big", "local:small") == registry.names
    assert (*ROLES, "critic", "openai:big", "local:small") == registry.hints
    assert {hint: registry.model(hint) for hint in registry.hints} == registry.by_hint
    assert (BIG, SMALL) == registry.models


def test_a_layer_around_every_model():
    """Each model gets one, and keeps its names and roles, also one that shares its name with another."""
    first, second = ScriptedModel([]), ScriptedModel([])
    before = ModelRegistry({"planning": first, "general": second})
    after = before.through(ModelLayer)

    assert (first, second) == (after.model("planning").inner, after.model().inner)
    assert after.model("fast") is after.model()
    assert (before.hints, before.roles, second) == (after.hints, after.roles, before.model())


def test_an_unknown_hint_is_refused_with_what_there_is():
    """The error suggests the nearest hint and lists them all."""
    with pytest.raises(UnknownModel, match=r"'fats'; did you mean 'fast'\?"):
        ModelRegistry(BIG).model("fats")


@pytest.mark.parametrize(
    ("models", "roles", "says"),
    [
        pytest.param([], {}, "no model", id="none"),
        pytest.param({}, {}, "no model", id="empty-mapping"),
        pytest.param(
            [BIG], {"fast": "openai:bog"}, "'fast' points at 'openai:bog'; did you mean 'openai:big'", id="dangling-role"
        ),
        pytest.param([BIG, ScriptedModel([], name="openai:big")], {}, "share a name", id="twice"),
    ],
)
def test_wrong_settings_are_refused(models, roles, says):
    """A registry that could not answer every hint it promises can't be built."""
    with pytest.raises(ConfigurationError, match=says):
        ModelRegistry(models, roles)
