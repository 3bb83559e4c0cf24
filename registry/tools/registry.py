"""A set of tools, as a run or a step is given them."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from registry.errors import ConfigurationError, UnknownTool
from registry.messages import ToolSpec
from registry.tools.arguments import shortened
from registry.tools.function import as_tool
from registry.tools.tool import Tool

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ToolRegistry:
    """Tools by name, in the order given. It never changes; `only` and `with_tools` make others."""

    __slots__ = ("_tools", "names", "specs")

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        """Plain functions become tools. Raises `ConfigurationError` for a name that comes twice or that models can't write."""
        self._tools: dict[str, Tool] = {}
        for tool in map(as_tool, tools):
            name = tool.spec.name
            if not _NAME.fullmatch(name):
                raise ConfigurationError(f"a tool can't be named {name!r}: 1 to 64 letters, digits, '_' or '-'")
            if name in self._tools:
                raise ConfigurationError(f"two tools are named {name!r}")
            self._tools[name] = tool
        self.names: tuple[str, ...] = tuple(self._tools)
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in self._tools.values())

    def get(self, name: str) -> Tool:
        """The tool of exactly this name. Raises `UnknownTool`, which suggests the nearest one."""
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(shortened(name), self.names)
        return tool

    def only(self, names: Iterable[str]) -> "ToolRegistry":
        """Just these, in the order they have here. Raises `UnknownTool`."""
        wanted = {name: self.get(name) for name in names}
        return ToolRegistry(tool for tool in self if tool.spec.name in wanted)

    def with_tools(self, *tools: Tool | Callable[..., Any]) -> "ToolRegistry":
        """These and some more."""
        return ToolRegistry((*self, *tools))

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())
