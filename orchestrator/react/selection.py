"""Which of many tools an agent is shown. The others it may ask for."""

from collections.abc import Collection, Iterable, Sequence
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from orchestrator.prompts import selection_messages
from registry.calls import Call
from registry.errors import ModelError, ToolError, ToolFailed, there_are
from registry.messages import Schema, ToolSpec
from registry.models.model import Model
from registry.origins import Origins
from registry.structured import structured_llm_call
from registry.tools.arguments import shortened
from registry.tools.function import FunctionTool
from registry.tools.registry import LONGEST_NAME, ToolRegistry
from registry.tools.tool import Observation, Tool
from registry.usage import Usage

TOOL_SELECTION_THRESHOLD = 12
"""How many tools a model is shown without a choice being made."""

TOOL_SELECTION_MAX = 6
"""How many tools are chosen, beside those that are shown in any case."""

MORE_TOOLS = "more_tools"
"""The tool by which an agent asks for tools that it was not shown."""

_LINE = 80
"""Characters of a tool in the catalogue."""

_NAMES: Schema = {
    "type": "object",
    "properties": {
        "tools": {
            "type": "array",
            "items": {"type": "string", "maxLength": LONGEST_NAME},
            "maxItems": TOOL_SELECTION_THRESHOLD,
        }
    },
    "required": ["tools"],
    "additionalProperties": False,
}


class Offer(Struct, frozen=True):
    """The tools that a model is shown, of all that were granted."""

    granted: ToolRegistry
    shown: ToolRegistry

    @classmethod
    def of_all(cls, granted: ToolRegistry) -> Self:
        return cls(granted, granted)

    @classmethod
    def of_some(cls, granted: ToolRegistry, names: Iterable[str]) -> Self:
        """These, and a tool to ask for the others."""
        shown = granted.only(names)
        hidden = ToolRegistry(tool for tool in granted if tool.spec.name not in shown)
        return cls(granted, shown.with_tools(more_tools(hidden)))

    def beside(self, tool: Tool) -> "Offer":
        """With a tool that is not the user's."""
        return replace(self, shown=self.shown.with_tools(tool))

    def after(self, seen: Iterable[Observation]) -> "Offer":
        """With the tools that were asked for in what was seen. They come after the others, so that prompts change least."""
        asked = [name for each in seen if each.name == MORE_TOOLS for name in _added(each)]
        if not asked or MORE_TOOLS in self.granted:  # which is then the user's own, and something else
            return self
        fresh = [name for name in dict.fromkeys(asked) if name in self.granted and name not in self.shown]
        return replace(self, shown=self.shown.with_tools(*map(self.granted.get, fresh))) if fresh else self


def must_choose(tools: ToolRegistry) -> bool:
    """Whether there are too many to show them all, and no tool of the user's is in the way of asking for more."""
    return len(tools) > TOOL_SELECTION_THRESHOLD and MORE_TOOLS not in tools


def catalogue(specs: Iterable[ToolSpec]) -> str:
    """A line for each tool: its name, and what it is for."""
    return "\n".join(shortened(f"{spec.name}: {spec.description.partition(chr(10))[0]}", _LINE) for spec in specs)


async def choose(
    tools: ToolRegistry, goal: str, model: Model, call: Call, *, hint: str | None = None, origins: Origins = ()
) -> tuple[Offer, Usage]:
    """What to offer for a goal, and what the choice cost. Pinned tools and the hinted one are always among it.

    Never fatal: where the model can't be asked, or names no tool that there is, all are offered.
    """
    messages = selection_messages(goal, catalogue(tools.specs), most=TOOL_SELECTION_MAX, origins=origins)
    call = replace(call, purpose="selection")
    try:
        answer = await structured_llm_call(model, messages, _NAMES, call, name="tools", default_value={"tools": []})
    except (ModelError, ToolError) as error:
        return Offer.of_all(tools), error.usage if isinstance(error, ModelError) else Usage()
    chosen = [tools.meant(name) for name in answer.value["tools"] if name in tools][:TOOL_SELECTION_MAX]
    if not chosen:
        return Offer.of_all(tools), answer.usage
    return Offer.of_some(tools, {*chosen, *_always(tools, hint)}), answer.usage


def more_tools(hidden: ToolRegistry) -> Tool:
    """The tool that tells an agent which others there are, and gets them."""

    async def more(names: list[str]) -> dict[str, Sequence[str]]:
        known = [hidden.meant(name) for name in names if name in hidden]
        if not known:
            raise ToolFailed(MORE_TOOLS, there_are(", ".join(map(shortened, names)), hidden.names))
        return {"added": known}

    described = f"Get tools by name, to be used from your next reply on. There are also: {', '.join(hidden.names)}."
    return FunctionTool(more, name=MORE_TOOLS, description=described, effect="pure", trusted=True)


def _always(tools: ToolRegistry, hint: str | None) -> Collection[str]:
    hinted = {hint} if hint is not None and hint in tools else set()
    return {tool.spec.name for tool in tools if tool.traits.pinned} | hinted


def _added(seen: Observation) -> list[str]:
    """From what was seen and not from the call itself: a resumed run sees it again without calling."""
    added = seen.data.get("added") if seen.error is None and isinstance(seen.data, dict) else None
    return [name for name in added if isinstance(name, str)] if isinstance(added, list) else []
