"""The tools that come with dagwright."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from registry.builtin.calculator import calculator
from registry.builtin.clock import clock_tool
from registry.builtin.files import file_tools
from registry.tools.tool import Tool


def builtin_tools(root: Path, now: Callable[[], datetime]) -> tuple[Tool, ...]:
    """All of them: files are those below `root`, the time is that of `now`."""
    return (calculator, *file_tools(root), clock_tool(now))
