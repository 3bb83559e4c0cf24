"""A model as settings describe it."""

from pydantic import SecretStr

from registry.models.specs import ModelSpec


def test_a_spec_has_its_models_name():
    """The name that hints use is `provider:model`."""
    assert "openai:gpt-4o" == ModelSpec(provider="openai", model="gpt-4o").name


def test_a_spec_does_not_show_its_key():
    """A key never gets into a log by way of a repr."""
    assert "sk-123" not in repr(ModelSpec(provider="openai", model="m", api_key=SecretStr("sk-123")))
