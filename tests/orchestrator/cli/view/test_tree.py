"""A run as a picture that keeps itself up to date."""

import re
import sys
from io import StringIO

import anyio
import pytest
from rich.console import Console

from orchestrator.cli.view.board import Board
from orchestrator.cli.view.screen import watch
from orchestrator.cli.view.tree import LiveTree, picture
from orchestrator.events.facts import PlanReady
from orchestrator.events.project import project
from orchestrator.events.recorded import Event
from planner import Plan, Step
from planner.results import Failed
from tests.orchestrator.cli.view.script import (
    ANSWER,
    ENDS,
    GUESSED,
    PLANNING,
    REVISED,
    SCRIPT,
    SIDE_BY_SIDE,
    ended,
    recorded,
    started,
    stream,
)

pytestmark = pytest.mark.anyio


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def terminal(*, width: int = 100, height: int = 30) -> Console:
    return Console(file=Terminal(), force_terminal=True, width=width, height=height)


def shown(*parts: tuple[Event, ...], now: float = 3.5, width: int = 100, height: int = 30) -> list[str]:
    """The picture after these parts of a run, each told a second after the one before."""
    board = Board()
    for second, part in enumerate(parts):
        for envelope in recorded(part):
            for message in project(envelope).messages:
                board.take(message, now=float(second))
    console = Console(file=StringIO(), width=width, height=height)
    console.print(picture(board, console, now=now, began=0.0))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def drawn(console: Console) -> str:
    """What was written to a terminal, without its control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", console.file.getvalue())


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param((), ["starting · 3.5 s"], id="nothing yet"),
        pytest.param(
            (PLANNING,),
            [
                "executing · 3.5 s · 3 waiting",
                "○ look",
                "○ sum",
                "  ○ merge        after look, sum",
            ],
            id="planned",
        ),
        pytest.param(
            (PLANNING, SIDE_BY_SIDE),
            [
                "executing · 3.5 s · 2 running · 1 waiting",
                "● look     small  2.5 s  1,234 tok  search, read",
                "● sum             2.5 s             calculator",
                "  ○ merge                           after look, sum",
            ],
            id="side by side",
        ),
        pytest.param(
            (PLANNING, SIDE_BY_SIDE, ENDS),
            [
                "executing · 3.5 s · 1 failed · 1 completed · 1 skipped",
                "✓ look     small  2.5 s  1,234 tok",
                "✗ sum             0.5 s             ToolFailed: error: no such number",
                "  - merge                           sum failed",
            ],
            id="ended",
        ),
        pytest.param(
            (PLANNING, SIDE_BY_SIDE, ENDS, REVISED),
            [
                "executing · 3.5 s · 1 running · 1 completed",
                "✓ look     small  2.5 s    1,234 tok",
                "  ● guess  large  0.5 s  ≥ 1,234 tok",
            ],
            id="revised",
        ),
    ],
)
def test_a_picture_shows_every_step(parts: tuple[tuple[Event, ...], ...], expected: list[str]) -> None:
    """One line for each step: state, model, seconds, tokens, and the tool it uses or the reason it ended."""
    assert expected == shown(*parts)


LONG = "漢字" * 40
ERROR = Failed(step=LONG, error="ToolFailed", message="reason " * 40, model="m" * 60, seconds=1.0)


@pytest.mark.parametrize("width", [40, 80, 100])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    """Wide characters, long ids, models and errors are cut; a step always takes one line."""
    from rich.cells import cell_len

    lines = shown((started(LONG, model="m" * 60), ended(ERROR)), width=width)

    assert 2 == len(lines)
    assert all(cell_len(line) <= width for line in lines)
    assert lines[1].startswith("✗ 漢字")


def test_long_cells_leave_room_for_the_figures() -> None:
    """What is long gives way to time and tokens."""
    line = shown((started(LONG, model="m" * 60), ended(ERROR)))[1]

    assert "✗ " + "漢字" * 5 + "漢…  mmmmmmmmmmmmmmmmmmm…  1.0 s    ToolFailed: reason reason reason reason r…" == line


def test_markup_in_names_is_text() -> None:
    """Brackets and colons in what models wrote are shown as they are, and control sequences not at all."""
    assert "● [red]a[/red] :bug:  m\\[x]  2.5 s" == shown(((started("[red]a[/red] :bug:\x1b[2J", model="m\\[x]")),), now=2.5)[1]


def test_a_plan_that_does_not_fit_shows_what_matters() -> None:
    """With more steps than lines, those that run or failed are shown first, in plan order, and the rest is counted."""
    plan = Plan(goal="g", steps=tuple(Step(id=f"s{n}", task="x") for n in range(100)))
    events = (
        PlanReady(plan=plan),
        started("s98", model="m"),
        started("s50", model="m"),
        ended(Failed(step="s50", error="E", message="no", seconds=1.0)),
    )

    assert [
        "starting · 2.0 s · 1 running · 1 failed · 98 waiting",
        "○ s0",
        "○ s1",
        "✗ s50  m  1.0 s    E: no",
        "● s98  m  2.0 s",
        "  and 96 more",
    ] == shown(events, now=2.0, height=8)


async def test_the_picture_ticks_between_events() -> None:
    """Seconds go on while no event comes, a few times a second."""
    console = terminal()

    await watch(stream((*PLANNING, *SIDE_BY_SIDE), pause=1.1), LiveTree(console, StringIO()))

    for told in ("0.5 s", "1.0 s"):
        assert f"executing · {told} · 2 running" in drawn(console)
    assert "executing · 1.5 s" not in drawn(console)


async def test_findings_and_messages_stay_above_the_picture() -> None:
    """A repaired plan and a received message are told once, in a line of their own."""
    console = terminal()

    await watch(stream(SCRIPT), LiveTree(console, StringIO()))

    assert 1 == drawn(console).count("plan: repair P005: 'luk' named no step (the edge is gone)")
    assert 1 == drawn(console).count("message received: Be quick")
    assert 1 == drawn(console).count("plan 2: added guess (after look): Guess it")
    assert 1 == drawn(console).count("plan 2: removed sum, merge")


async def test_the_answer_streams_below_a_picture_that_stands_still() -> None:
    """On a terminal the answer comes piece by piece, a restart is told, and nothing is drawn into it."""
    console, out = terminal(), Terminal()
    screen = LiveTree(console, out)

    await watch(stream((*PLANNING, *SIDE_BY_SIDE, *ENDS, *REVISED, *GUESSED), ANSWER[:1], ANSWER[1:], pause=1.0), screen)

    assert "The ans\n(starting over)\nIt is\n42.\n" == out.getvalue()
    assert screen.answered
    assert "synthesis · 1.0 s · 2 completed" in drawn(console)
    assert "synthesis · 1.2 s" not in drawn(console)


async def test_a_piped_answer_is_left_to_the_caller() -> None:
    """Where stdout is no terminal the picture goes on to the end, and not a byte of the answer is written."""
    console, out = terminal(), StringIO()
    screen = LiveTree(console, out)

    await watch(stream((*PLANNING, *GUESSED, *ANSWER[:1]), ANSWER[1:], pause=1.1), screen)

    assert "" == out.getvalue()
    assert not screen.answered
    assert "synthesis · 2.2 s" in drawn(console)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(ANSWER[4:], "", id="told again by a resumed run"),
        pytest.param(ANSWER[:1], "The ans\n", id="broken off"),
        pytest.param(ANSWER[:2], "The ans\n(starting over)\n", id="broken off after a restart"),
    ],
)
async def test_an_answer_that_was_not_streamed_whole_is_not_answered(events: tuple[Event, ...], expected: str) -> None:
    """Whoever ran the run prints what stdout doesn't have, on a line of its own."""
    out = Terminal()
    screen = LiveTree(terminal(), out)

    await watch(stream(events), screen)

    assert expected == out.getvalue()
    assert not screen.answered


async def test_a_terminal_is_given_back() -> None:
    """However watching ends, the cursor is there again and stderr is its own."""
    console, stderr = terminal(), sys.stderr

    with anyio.move_on_after(1.0):
        await watch(stream(PLANNING, pause=3600), LiveTree(console, Terminal()))

    written = console.file.getvalue()
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")
    assert stderr is sys.stderr


async def test_no_color_means_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR keeps the picture and drops its colours."""
    monkeypatch.setenv("NO_COLOR", "1")
    console = terminal()

    await watch(stream(PLANNING, SIDE_BY_SIDE), LiveTree(console, StringIO()))

    assert "● look" in drawn(console)
    assert not re.search(r"\x1b\[3\dm", console.file.getvalue())
