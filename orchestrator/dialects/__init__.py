"""Two dialects, one loop."""

from orchestrator.dialects.dialect import Act, Conclude, Dialect, Garbled, Reading
from orchestrator.dialects.json import JsonDialect
from orchestrator.dialects.native import Native
from registry.models.model import Abilities

__all__ = ["Act", "Conclude", "Dialect", "Garbled", "JsonDialect", "Native", "Reading", "dialect_for"]


def dialect_for(abilities: Abilities, *, has_tools: bool, use_native_tools: bool = True) -> Dialect:
    """Native where the model can and the caller wants it, and where there is no tool to describe; Json otherwise."""
    if not has_tools or (use_native_tools and abilities.get("tool_call", False)):
        return Native()
    return JsonDialect(abilities)
