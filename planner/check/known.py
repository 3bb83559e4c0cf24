"""What a run has to offer, as far as the checks ask."""

from collections.abc import Collection, Mapping
from typing import Protocol, Self

from msgspec import Struct, field

from registry.messages import Json, ToolSpec
from registry.models.model import Abilities
from registry.tools.tool import Tool, ToolTraits


class ModelShape(Protocol):
    """What a model can do, connected or not."""

    @property
    def abilities(self) -> Abilities: ...

    @property
    def context_window(self) -> int | None: ...


class Known(Struct, frozen=True, kw_only=True):
    """What a run has: tools by name, `hints` (roles and models), and the values given for the plan's inputs.

    `specs` and `traits` are those of the tools, and `models` what the hints stand for: of what isn't in them nothing is held
    against a plan.
    """

    tools: frozenset[str] = frozenset()
    hints: frozenset[str] = frozenset()
    inputs: Mapping[str, Json] = field(default_factory=dict)
    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    traits: Mapping[str, ToolTraits] = field(default_factory=dict)
    models: Mapping[str, ModelShape] = field(default_factory=dict)

    @classmethod
    def of(cls, tools: Collection[Tool], models: Mapping[str, ModelShape], inputs: Mapping[str, Json] | None = None) -> Self:
        """All that these tools, and the models by their hints, say of themselves."""
        specs = {tool.spec.name: tool.spec for tool in tools}
        traits = {tool.spec.name: tool.traits for tool in tools}
        return cls(
            tools=frozenset(specs), hints=frozenset(models), inputs=inputs or {}, specs=specs, traits=traits, models=models
        )
