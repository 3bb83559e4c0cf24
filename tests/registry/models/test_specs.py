"""A model as settings describe it."""

from pydantic import SecretStr

from registry.models.specs import ModelSpec, roles_of


def test_a_spec_has_its_models_name():
    """The name that hints use is `provider:model`."""
    assert "openai:gpt-4o" == ModelSpec(provider="openai", model="gpt-4o").name


def test_a_spec_does_not_show_its_key():
    """A key never gets into a log by way of a repr."""
    assert "sk-123" not in repr(ModelSpec(provider="openai", model="m", api_key=SecretStr("sk-123")))


def test_the_first_claim_to_a_role_counts():
    """Each role is played by the first model that names it."""
    specs = (ModelSpec(provider="a", model="1", roles=("fast",)), ModelSpec(provider="b", model="2", roles=("fast", "planning")))

    assert {"fast": "a:1", "planning": "b:2"} == roles_of(specs)
