"""What is known of well-known models."""

import pytest

from registry.models.abilities import known
from registry.models.names import parse_model_name


@pytest.mark.parametrize(
    ("name", "can", "cannot", "window"),
    [
        pytest.param("openai:gpt-4o-mini", {"tool_call", "json_mode", "json_schema"}, set(), 128_000, id="gpt-4o"),
        pytest.param("openai:gpt-4.1", {"tool_call", "json_schema"}, set(), 1_047_576, id="gpt-4.1"),
        pytest.param("openai:gpt-4", {"tool_call"}, {"json_mode", "json_schema"}, 8_192, id="gpt-4"),
        pytest.param("openai:gpt-5-mini", {"tool_call", "json_schema"}, set(), 400_000, id="gpt-5"),
        pytest.param("openai:o1-mini", set(), {"tool_call", "json_mode"}, 128_000, id="o1-mini"),
        pytest.param("openai:o3", {"tool_call", "json_schema"}, set(), 200_000, id="o3"),
        pytest.param("openai:gpt-9", {"tool_call", "json_mode"}, set(), None, id="openai-to-come"),
        pytest.param("anthropic:claude-sonnet-4-5", {"tool_call"}, {"json_mode", "json_schema"}, 200_000, id="claude"),
        pytest.param("anthropic:other", {"tool_call"}, {"json_mode"}, None, id="anthropic-to-come"),
        pytest.param("local", {"json_mode", "json_schema"}, {"tool_call"}, None, id="llama.cpp"),
        pytest.param("ollama:llama3.2:1b", {"tool_call", "json_mode"}, set(), None, id="ollama"),
        pytest.param("http://host/v1#m", {"tool_call", "json_mode"}, {"json_schema"}, None, id="compatible"),
    ],
)
def test_abilities_go_by_provider_and_prefix(name, can, cannot, window):
    """The first matching prefix of the provider's table counts; an unknown model can what compatible endpoints can."""
    found = known(parse_model_name(name))

    assert all(found.abilities.get(ability, False) for ability in can)
    assert not any(found.abilities.get(ability, False) for ability in cannot)
    assert window == found.context_window
