"""The table of providers."""

import pytest

from orchestrator.settings import KEYS
from orchestrator.wiring.providers import PROVIDERS, slots


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        pytest.param("https://api.openai.com/v1", 32, id="hosted"),
        pytest.param("http://127.0.0.1:11434/v1", 2, id="loopback"),
        pytest.param("http://localhost:1234/v1", 2, id="localhost"),
        pytest.param("http://[::1]:1/v1", 2, id="loopback of IPv6"),
        pytest.param("http://127.example.com/v1", 32, id="a name that only looks like an address"),
    ],
)
def test_slots(base_url: str, expected: int) -> None:
    """Servers on this machine take two requests at a time, others thirty-two."""
    assert expected == slots(base_url)


def test_every_key_is_read() -> None:
    """The settings read the key of each provider that needs one."""
    assert set(KEYS) == {provider.key for provider in PROVIDERS.values() if provider.key}


def test_every_provider_has_an_endpoint_but_the_embedded_one() -> None:
    """The embedded model's address is known only once it runs."""
    assert {"local"} == {name for name, provider in PROVIDERS.items() if not provider.base_url}
