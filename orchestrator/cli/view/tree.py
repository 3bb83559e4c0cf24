"""A run as a picture that keeps itself up to date, for terminals that can redraw."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

import anyio

from orchestrator.cli.view.board import Board, Row, State
from orchestrator.cli.view.plain import diagnostic_lines
from orchestrator.cli.view.revision import Revisions
from orchestrator.cli.view.screen import Screen
from orchestrator.cli.view.text import harmless, one_line, seconds_told
from orchestrator.events.project import Projection
from registry.messages import Json

if TYPE_CHECKING:  # rich takes long to import, and only this screen needs it
    from rich.console import Console, Group
    from rich.live import Live
    from rich.table import Table

LOOKS: dict[State, tuple[str, str]] = {
    "running": ("●", "cyan"),
    "failed": ("✗", "red"),
    "waiting": ("○", "dim"),
    "completed": ("✓", "green"),
    "skipped": ("-", "yellow"),
}
"""Glyph and style of a state; what matters most when not all steps fit comes first."""

DEEPEST = 6
"""Levels of indentation at most."""


class LiveTree(Screen):
    """The plan's steps, each with its state, model, time, tokens and what it does, redrawn a few times a second on `console`.

    Where `out` is a terminal, the picture stands still as soon as the answer comes, and the answer is written there piece by
    piece. Otherwise the answer is left to whoever prints it in the end.
    """

    tick_seconds = 0.25

    def __init__(self, console: "Console", out: TextIO) -> None:
        self._console, self._out = console, out
        self._board, self._revisions, self._began = Board(), Revisions(), 0.0
        self._live: Live | None = None
        self._streams, self._last = out.isatty(), ""

    def open(self) -> None:
        from rich.live import Live

        self._began = anyio.current_time()
        self._live = Live(get_renderable=self._picture, console=self._console, auto_refresh=False, redirect_stdout=False)
        self._live.start()

    def show(self, projection: Projection) -> None:
        for message in projection.messages:
            self._board.take(message, now=anyio.current_time())
            match message.channel:
                case "plan":
                    self._say(*self._revisions.lines(message.payload), *diagnostic_lines(message.payload))
                case "inject":
                    self._say(f"message received: {message.payload['content']}")
                case "answer" if self._streams:
                    self._answer(message.payload)
                case _:
                    pass

    def tick(self) -> None:
        if self._live is not None:
            self._live.refresh()

    def close(self) -> None:
        self._freeze()
        if self._last and not self._last.endswith("\n"):
            self._write("\n")

    def _freeze(self) -> None:
        """The picture stands still from here on, and stays on the screen."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _picture(self) -> "Group":
        return picture(self._board, self._console, now=anyio.current_time(), began=self._began)

    def _say(self, *lines: str) -> None:
        """Lines above the picture."""
        from rich.text import Text

        for line in lines:
            self._console.print(Text(one_line(line), no_wrap=True, overflow="ellipsis"))

    def _answer(self, payload: Mapping[str, Json]) -> None:
        match payload:
            case {"status": "delta", "content": content}:
                self._freeze()
                self._write(harmless(content))
            case {"status": "reset"}:
                self._write("\n(starting over)\n")
                self._last = ""
            case {"status": "done"}:
                self.answered = bool(self._last)
            case _:
                pass

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
        self._last = text or self._last


def picture(board: Board, console: "Console", *, now: float, began: float) -> "Group":
    """A heading, and the steps as far as they fit: when not all do, those that run or failed come before the others."""
    from rich.console import Group
    from rich.text import Text

    counts = {state: len(board.in_state(state)) for state in LOOKS}
    told = [f"{number} {state}" for state, number in counts.items() if number]
    heading = " · ".join([board.phase.replace("_", " ") or "starting", seconds_told(now - began), *told])
    rows = _fitting(board, max(3, console.height - 4))
    hidden = len(board.rows) - len(rows)
    more = [Text(f"  and {hidden} more", style="dim")] if hidden else []
    return Group(Text(heading, no_wrap=True, overflow="ellipsis"), _table(rows, console, now), *more)


def _fitting(board: Board, most: int) -> list[Row]:
    rows = list(board.rows.values())
    if len(rows) <= most:
        return rows
    order = list(LOOKS)
    chosen = {row.step for row in sorted(rows, key=lambda row: order.index(row.state))[:most]}
    return [row for row in rows if row.step in chosen]


def _table(rows: list[Row], console: "Console", now: float) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, max_width=console.width // 4)
    table.add_column(no_wrap=True, max_width=console.width // 5)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True, justify="right")
    table.add_column()  # the only one that gives way: its cells are cut instead of wrapped
    for row in rows:
        name, *others = (Text(cell, no_wrap=True, overflow="ellipsis") for cell in _cells(row, now))
        name.stylize(LOOKS[row.state][1])
        table.add_row(name, *others)
    return table


def _cells(row: Row, now: float) -> tuple[str, ...]:
    name = f"{'  ' * min(row.depth, DEEPEST)}{LOOKS[row.state][0]} {one_line(row.step)}"
    seconds = seconds_told(row.elapsed(now)) if row.state in ("running", "completed", "failed") else ""
    return name, one_line(row.model), seconds, _tokens(row), one_line(row.doing)


def _tokens(row: Row) -> str:
    """Short, for a narrow column; empty where there is nothing to know yet, or ever."""
    if not row.tokens:
        return "" if row.tokens_exact else "? tok"
    return f"{'' if row.tokens_exact else '≥ '}{row.tokens:,} tok"
