"""The tools that come with dagwright, together."""

from datetime import UTC, datetime
from pathlib import Path

from registry.builtin import builtin_tools
from registry.tools.registry import ToolRegistry


def test_all_are_pure_and_described(tmp_path: Path) -> None:
    """None of them changes anything, and each says what it is for."""
    tools = ToolRegistry(builtin_tools(tmp_path, lambda: datetime(2026, 2, 3, tzinfo=UTC)))

    assert tools.names == ("calculator", "read_file", "list_files", "current_time")
    assert all(tool.traits.effect == "pure" and tool.spec.description for tool in tools)
