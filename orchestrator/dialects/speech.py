"""How an agent speaks in one run: its dialect, and the system prompt that explains it."""

from collections.abc import Collection, Sequence

from orchestrator.dialects import dialect_for
from orchestrator.prompts import agent_system
from registry.messages import SystemMessage, ToolSpec
from registry.models.model import Abilities


class Speech:
    """The richest dialect that a model of these abilities takes, and the `opening` of a transcript in it."""

    def __init__(self, system: str, specs: Sequence[ToolSpec], abilities: Abilities, *, use_native_tools: bool) -> None:
        self._system, self._specs, self._abilities = system, specs, abilities
        self._use_native_tools = use_native_tools
        self.dialect = dialect_for(abilities, has_tools=bool(specs), use_native_tools=use_native_tools)
        self.opening = SystemMessage(text=agent_system(system, self.dialect.instructions(specs)))

    def about(self, specs: Sequence[ToolSpec]) -> "Speech":
        """The same way to speak, about other tools."""
        return Speech(self._system, specs, self._abilities, use_native_tools=self._use_native_tools)

    def without(self, lacking: Collection[str]) -> "Speech | None":
        """How to speak to a model that can do all this but for the abilities in `lacking`; None where it makes no difference."""
        if not any(self._abilities.get(name, False) for name in lacking):
            return None
        abilities = {name: can and name not in lacking for name, can in self._abilities.items()}
        return Speech(self._system, self._specs, abilities, use_native_tools=self._use_native_tools)
