"""Following a run, and the screens that need no picture."""

import json
from collections.abc import AsyncIterator
from io import StringIO

import anyio
import pytest

from orchestrator.cli.view.screen import JsonLines, Quiet, Screen, watch
from orchestrator.events.project import Projection
from orchestrator.events.recorded import Recorded, decode
from registry.errors import ConfigurationError
from tests.orchestrator.cli.view.script import PLANNING, SCRIPT, recorded, stream

pytestmark = pytest.mark.anyio


class Noting(Screen):
    """Notes what is asked of it."""

    def __init__(self, tick_seconds: float | None = None) -> None:
        self.tick_seconds = tick_seconds
        self.noted: list[str] = []

    def open(self) -> None:
        self.noted.append("open")

    def show(self, projection: Projection) -> None:
        self.noted.append(projection.recorded.event.kind)

    def tick(self) -> None:
        self.noted.append("tick")

    def close(self) -> None:
        self.noted.append("close")


class Flushed(StringIO):
    """Knows what had been written each time it was flushed."""

    def __init__(self) -> None:
        super().__init__()
        self.flushes: list[str] = []

    def flush(self) -> None:
        self.flushes.append(self.getvalue())


async def broken() -> AsyncIterator[Recorded]:
    for envelope in recorded(PLANNING):
        yield envelope
    raise ConfigurationError("no model")


async def test_a_screen_is_opened_shown_all_and_closed() -> None:
    """Every event is shown once, in order, between opening and closing."""
    screen = Noting()

    await watch(stream(PLANNING), screen)

    assert ["open", "run_started", "phase_began", "plan_ready", "phase_began", "close"] == screen.noted


async def test_a_screen_ticks_while_nothing_happens() -> None:
    """A screen that asks for it hears that time passes, also without events, and not a moment longer than they last."""
    screen = Noting(tick_seconds=0.25)

    await watch(stream((), pause=1.1), screen)
    await anyio.sleep(5)

    assert ["open", "tick", "tick", "tick", "tick", "close"] == screen.noted


async def test_an_error_comes_out_as_itself() -> None:
    """What ends the events ends the watching with the same error, and the screen is closed."""
    screen = Noting(tick_seconds=0.25)

    with pytest.raises(ConfigurationError, match="no model"):
        await watch(broken(), screen)

    assert "close" == screen.noted[-1]


async def test_watching_can_be_cancelled() -> None:
    """Whoever stops looking gets a closed screen, and nothing ticks on."""
    screen = Noting(tick_seconds=0.25)

    with anyio.move_on_after(1.1) as scope:
        await watch(stream((), pause=3600), screen)
    await anyio.sleep(5)

    assert scope.cancelled_caught
    assert ["open", "tick", "tick", "tick", "tick", "close"] == screen.noted


async def test_json_lines_are_the_events() -> None:
    """One line of JSON for each event, Facts and Glimpses alike, each flushed at once."""
    out = Flushed()
    events = recorded(SCRIPT)

    await watch(stream(SCRIPT), JsonLines(out))

    lines = out.getvalue().splitlines()
    assert events == [decode(line.encode()) for line in lines]
    assert ["".join(line + "\n" for line in lines[: n + 1]) for n in range(len(lines))] == out.flushes


async def test_a_json_line_to_the_letter() -> None:
    """The line is the journal's: envelope and event, with all fields."""
    out = StringIO()

    await watch(stream(PLANNING[1:2]), JsonLines(out))

    event = {"kind": "phase_began", "phase": "planning", "total_tools": 0}
    assert json.dumps({"seq": 1, "time": 0.0, "run": "r1", "event": event}, separators=(",", ":")) + "\n" == out.getvalue()


@pytest.mark.parametrize(
    ("screen", "answered"),
    [pytest.param(Quiet(), False, id="quiet"), pytest.param(JsonLines(StringIO()), True, id="json")],
)
async def test_a_screen_says_whether_stdout_has_the_answer(screen: Screen, answered: bool) -> None:
    """After a quiet run the answer is still to be printed; among JSON lines it would be one too many."""
    await watch(stream(SCRIPT), screen)

    assert answered == screen.answered
