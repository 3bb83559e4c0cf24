"""What a person, or a program, sees of a run while it goes on. It sees messages only, as any page would."""

from orchestrator.cli.view.plain import PlainLines
from orchestrator.cli.view.screen import JsonLines, Quiet, Screen, watch
from orchestrator.cli.view.summary import summary_lines
from orchestrator.cli.view.text import harmless, one_line
from orchestrator.cli.view.tree import LiveTree
from orchestrator.cli.view.waits import asked_lines, waiting_lines

__all__ = [
    "JsonLines",
    "LiveTree",
    "PlainLines",
    "Quiet",
    "Screen",
    "asked_lines",
    "harmless",
    "one_line",
    "summary_lines",
    "waiting_lines",
    "watch",
]
