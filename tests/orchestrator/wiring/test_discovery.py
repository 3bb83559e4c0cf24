"""Looking for a model server on this machine, played by a transport that knows what listens at which port."""

import json

import anyio
import httpx
import pytest

from orchestrator.wiring.discovery import NoModel, find_model, first_served, servers
from registry.errors import ConfigurationError
from registry.http import HttpDoor
from registry.models.specs import ModelSpec

pytestmark = pytest.mark.anyio

WEB_PAGE = "a web page"
SILENCE = "silence"

Listeners = dict[int, list[str] | str]


def door(listeners: Listeners) -> HttpDoor:
    """Where something listens: a list of models, a web page, or nothing that ever answers. Elsewhere nobody is."""

    async def answer(request: httpx.Request) -> httpx.Response:
        found = listeners.get(request.url.port or 0)
        if found == SILENCE:
            await anyio.sleep_forever()
        if found == WEB_PAGE:
            return httpx.Response(200, text="<html>", headers={"content-type": "text/html"})
        if found is None:
            raise httpx.ConnectError("refused")
        return httpx.Response(200, text=json.dumps({"data": [{"id": model} for model in found]}))

    return HttpDoor(httpx.MockTransport(answer))


@pytest.mark.parametrize(
    ("listeners", "expected"),
    [
        pytest.param({11434: ["llama3.2:1b", "qwen"]}, "ollama:llama3.2:1b", id="its first model"),
        pytest.param({8000: ["v"], 1234: ["l"]}, "lmstudio:l", id="the first server of the table"),
        pytest.param({11434: [], 8080: ["g"]}, "llamacpp:g", id="a server without models is passed over"),
        pytest.param({11434: ["nomic-embed-text", "llama3"]}, "ollama:llama3", id="a model that only embeds is passed over"),
        pytest.param({8080: WEB_PAGE, 8000: ["v"]}, "vllm:v", id="something else at the port"),
        pytest.param({11434: SILENCE, 8000: ["v"]}, "vllm:v", id="nobody waits long for silence"),
    ],
)
async def test_the_first_model_found(listeners: Listeners, expected: str) -> None:
    """All places are asked; the order of the table decides."""
    assert expected == await find_model(door(listeners))


async def test_silence_costs_little_time() -> None:
    """All servers are asked at once, so silent ones cost no more than one of them would."""
    began = anyio.current_time()

    assert await servers(door(dict.fromkeys((11434, 1234, 8080, 8000), SILENCE))) == ()

    assert anyio.current_time() - began == pytest.approx(1.5, abs=0.3)


@pytest.mark.parametrize("wanted", [None, "llama3"])
async def test_nothing_found_says_what_to_do(wanted: str | None) -> None:
    """One sentence names what to set, to start or to install."""
    with pytest.raises(NoModel) as none:
        await find_model(door({}), wanted)

    for remedy in (
        "OPENAI_API_KEY or ANTHROPIC_API_KEY",
        "Ollama",
        "LM Studio",
        "llama.cpp",
        "vLLM",
        "pip install",
        "--model local",
    ):
        assert remedy in str(none.value)


async def test_a_model_by_its_own_name() -> None:
    """A bare name is looked for on every server; Ollama's tag `:latest` goes without saying."""
    assert await find_model(door({11434: ["a"], 8000: ["b:latest"]}), "b") == "vllm:b:latest"


async def test_a_model_that_nobody_serves() -> None:
    """The sentence says what is served instead."""
    with pytest.raises(ConfigurationError, match="no server on this machine serves 'b'; there are: ollama:a"):
        await find_model(door({11434: ["a"]}), "b")


async def test_the_first_model_of_an_endpoint() -> None:
    """An endpoint that is named without a model is asked what it serves, and one that serves none is an error."""
    spec = ModelSpec(provider="openai", base_url="http://h:7/v1")

    assert await first_served(door({7: ["m", "n"]}), spec) == "m"
    with pytest.raises(ConfigurationError, match="http://h:7/v1 serves no model"):
        await first_served(door({7: []}), spec)
