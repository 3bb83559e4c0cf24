"""The providers that a model's name may begin with, as data."""

from collections.abc import Mapping
from functools import cache
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from registry.wire.rules import COMPATIBLE, LLAMA_CPP, OPENAI, WireRules

OLLAMA = WireRules(name="ollama", named_tool_choice=False)


class Provider(Struct, frozen=True, kw_only=True):
    """`key` is the environment variable of its key, None where it needs none. `model` is the one asked where none is named,
    empty for the first that the endpoint serves. `title` is what people call it. `protocol` is whose it speaks; `rules` are the
    quirks of those that speak OpenAI's."""

    title: str
    base_url: str
    key: str | None = None
    model: str = ""
    protocol: Literal["openai", "anthropic"] = "openai"
    rules: WireRules = COMPATIBLE


DEFAULT = "openai"
EMBEDDED = "local"

ON_THIS_MACHINE: Mapping[str, Provider] = {
    "ollama": Provider(title="Ollama", base_url="http://127.0.0.1:11434/v1", rules=OLLAMA),
    "lmstudio": Provider(title="LM Studio", base_url="http://127.0.0.1:1234/v1"),
    "llamacpp": Provider(title="llama.cpp", base_url="http://127.0.0.1:8080/v1", rules=LLAMA_CPP),
    "vllm": Provider(title="vLLM", base_url="http://127.0.0.1:8000/v1"),
}
"""Servers that people run themselves, at the ports they listen on by default, in the order they are looked for."""

PROVIDERS: Mapping[str, Provider] = {
    DEFAULT: Provider(
        title="OpenAI", base_url="https://api.openai.com/v1", key="OPENAI_API_KEY", model="gpt-4.1-mini", rules=OPENAI
    ),
    "anthropic": Provider(
        title="Anthropic",
        base_url="https://api.anthropic.com",
        key="ANTHROPIC_API_KEY",
        model="claude-sonnet-4-5",
        protocol="anthropic",
    ),
    **ON_THIS_MACHINE,
    EMBEDDED: Provider(title="the embedded model", base_url="", rules=LLAMA_CPP),
}

HOSTED_SLOTS = 32
LOCAL_SLOTS = 2


def slots(base_url: str) -> int:
    """How many requests an endpoint takes at a time, where nobody says."""
    return LOCAL_SLOTS if is_here(base_url) else HOSTED_SLOTS


@cache
def is_here(base_url: str) -> bool:
    """Whether the endpoint is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
