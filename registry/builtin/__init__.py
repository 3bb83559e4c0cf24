"""The tools that come with dagwright."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from registry.builtin.asking import ask_user
from registry.builtin.calculator import calculator
from registry.builtin.clock import clock_tool
from registry.builtin.files import file_tools
from registry.tools.tool import Tool

__all__ = ["ask_user", "builtin_tools", "calculator", "clock_tool", "file_tools"]


def builtin_tools(root: Path, now: Callable[[], datetime]) -> tuple[Tool, ...]:
    """All that need nobody to answer: files are those below `root`, the time is that of `now`."""
    return (calculator, *file_tools(root), clock_tool(now))
