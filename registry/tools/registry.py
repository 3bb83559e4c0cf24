"""A set of tools, as a run or a step is given them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from registry.errors import ConfigurationError, UnknownTool
from registry.messages import ToolSpec
from registry.tools.arguments import canonical_name, shortened
from registry.tools.function import as_tool
from registry.tools.tool import Tool

LONGEST_NAME = 128
"""Characters of a tool's name."""

WIDTH = 16
"""How many calls of one reply go side by side where nobody says otherwise."""


class ToolRegistry:
    """Tools by name, in the order given. It never changes; `only` and `with_tools` make others.

    A name may be any that can be printed: endpoints that take fewer are told of another one (`registry.wire.naming`). A prefix
    that models put before names (`functions.search`) makes no difference, unless there is a tool of exactly that name.
    Of calls that may go side by side, `width` do so at a time.
    """

    __slots__ = ("_meant", "_tools", "names", "specs", "width")

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = (), *, width: int = WIDTH) -> None:
        """Plain functions become tools. Raises `ConfigurationError` for a name that comes twice or can't be printed."""
        if width < 1:
            raise ConfigurationError(f"{width} calls can't go side by side: at least one does")
        self._tools: dict[str, Tool] = {}
        for tool in map(as_tool, tools):
            name = tool.spec.name
            if not _is_name(name):
                raise ConfigurationError(f"a tool can't be named {shortened(name)!r}: 1 to {LONGEST_NAME} printable characters")
            if name in self._tools:
                raise ConfigurationError(f"two tools are named {name!r}")
            self._tools[name] = tool
        self._meant = {canonical_name(name): name for name in self._tools} | {name: name for name in self._tools}
        self.width = width
        self.names: tuple[str, ...] = tuple(self._tools)
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in self._tools.values())

    def find(self, name: str) -> Tool | None:
        """The tool of this name, None where there is none."""
        found = self._tools.get(name)
        return self._tools.get(self.meant(name)) if found is None else found

    def get(self, name: str) -> Tool:
        """The tool of this name. Raises `UnknownTool`, which suggests the nearest one."""
        tool = self.find(name)
        if tool is None:
            raise UnknownTool(shortened(name, LONGEST_NAME), self.names)
        return tool

    def meant(self, written: str) -> str:
        """The name of the tool that a model means by what it wrote; where there is none, what it wrote without the prefix."""
        known = self._meant.get(written)
        if known is None:
            name = canonical_name(written)
            known = self._meant.get(name, name)
        return known

    def only(self, names: Iterable[str]) -> "ToolRegistry":
        """Just these, in the order they have here. Raises `UnknownTool`."""
        wanted = {self.get(name).spec.name for name in names}
        return ToolRegistry((tool for tool in self if tool.spec.name in wanted), width=self.width)

    def with_tools(self, *tools: Tool | Callable[..., Any]) -> "ToolRegistry":
        """These and some more."""
        return ToolRegistry((*self, *tools), width=self.width)

    def with_width(self, width: int) -> "ToolRegistry":
        """The same tools, of whose calls so many go side by side."""
        return ToolRegistry(self, width=width)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()
