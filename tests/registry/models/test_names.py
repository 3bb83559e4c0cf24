"""How users name models."""

import pytest

from registry.errors import ConfigurationError
from registry.models.names import ModelName, parse_model_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("openai:gpt-4o", ModelName("openai", "gpt-4o"), id="plain"),
        pytest.param("ollama:llama3.2:1b", ModelName("ollama", "llama3.2:1b"), id="colon-in-the-model"),
        pytest.param("local", ModelName("local"), id="provider-alone"),
        pytest.param(" OpenAI:GPT-4o ", ModelName("openai", "GPT-4o"), id="case-and-spaces"),
        pytest.param("http://host:8080/v1#m:1", ModelName("http://host:8080/v1", "m:1"), id="address"),
        pytest.param("https://host/v1/", ModelName("https://host/v1"), id="address-alone"),
        pytest.param("openrouter:meta/llama", ModelName("openrouter", "meta/llama"), id="slash"),
    ],
)
def test_a_name_is_a_provider_and_a_model(text, name):
    """The first colon divides, or the hash after an address; what is left belongs to the model."""
    assert name == parse_model_name(text)


@pytest.mark.parametrize("text", ["openai:gpt-4o", "ollama:llama3.2:1b", "local", "http://host:8080/v1#m:1"])
def test_a_name_is_written_as_it_was_read(text):
    """A parsed name turns back into its text."""
    assert text == str(parse_model_name(text))


@pytest.mark.parametrize("text", ["", ":gpt-4o", "openai:", "gpt 4o", "openai: "])
def test_half_a_name_is_refused(text):
    """A name without a provider, or with nothing after its colon, is a wrong setting."""
    with pytest.raises(ConfigurationError, match="provider:model"):
        parse_model_name(text)
