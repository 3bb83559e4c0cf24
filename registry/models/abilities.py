"""What is known of well-known models. Settings override it; an unknown model is taken for a common one of its provider."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from registry.models.model import Abilities
from registry.models.names import ModelName

_ALL: Abilities = MappingProxyType({"tool_call": True, "json_mode": True, "json_schema": True})
_COMPATIBLE: Abilities = MappingProxyType({"tool_call": True, "json_mode": True})
_CALLING: Abilities = MappingProxyType({"tool_call": True})
_GRAMMAR: Abilities = MappingProxyType({"json_mode": True, "json_schema": True})


class Known(Struct, frozen=True):
    """A model's abilities, and its context window in tokens, None when unknown."""

    abilities: Abilities
    context_window: int | None = None


_UNHEARD_OF = Known(_COMPATIBLE)

FAMILIES: Mapping[str, tuple[tuple[str, Known], ...]] = {
    "openai": (
        ("gpt-4o", Known(_ALL, 128_000)),
        ("gpt-4.1", Known(_ALL, 1_047_576)),
        ("gpt-4-turbo", Known(_COMPATIBLE, 128_000)),
        ("gpt-4", Known({"tool_call": True}, 8_192)),
        ("gpt-3.5-turbo", Known(_COMPATIBLE, 16_385)),
        ("gpt-5", Known(_ALL, 400_000)),
        ("o1-mini", Known({}, 128_000)),
        ("o1-preview", Known({}, 128_000)),
        ("o1", Known(_ALL, 200_000)),
        ("o3", Known(_ALL, 200_000)),
        ("o4", Known(_ALL, 200_000)),
        ("", Known(_ALL)),
    ),
    # Some take more, on special terms.
    "anthropic": (("claude-", Known(_CALLING, 200_000)), ("", Known(_CALLING))),
    # llama.cpp enforces a schema by grammar; whether a tool call works depends on a template that nobody told us of.
    "local": (("", Known(_GRAMMAR)),),
    "ollama": (("", Known(_ALL)),),
}
"""By provider, what its models have in common by the beginning of their names; the first match counts."""


def known(name: ModelName) -> Known:
    """What is known of this model; of one that nobody has heard of, what endpoints of the common protocol can do."""
    model = name.model.lower()
    return next((fact for prefix, fact in FAMILIES.get(name.provider, ()) if model.startswith(prefix)), _UNHEARD_OF)
