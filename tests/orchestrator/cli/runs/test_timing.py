"""`dagwright show --timeline` and `--svg`."""

import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from orchestrator.cli.runs.timing import timeline_lines
from orchestrator.events.recorded import Recorded
from orchestrator.ports import Ports
from orchestrator.timeline.rows import Row, Timeline, timeline
from orchestrator.timeline.stretches import Stretch
from tests.orchestrator.cli.terminal import NOW, ScriptedWorld, greets, typed
from tests.orchestrator.timeline.telling import OVER, ends, pauses, plan, ready, replies, skips, starts, suspended, told

STARTED = (0.0, ready(plan(a="", b="", c="ab")))
RUN = told(
    STARTED,
    (0, starts("a")),
    (0, starts("b", task="<b>")),
    (4, ends("a")),
    (10, replies("b", seconds=6, waited=4)),
    (10, ends("b")),
    (12, starts("c")),
    (16, ends("c")),
    (20, OVER),
    since=NOW.timestamp() - 100,
)


def world(facts: Sequence[Recorded]) -> ScriptedWorld:
    """One whose journal has this run."""

    async def tell() -> None:
        writer = await found.kept.claim("r1", holder="somebody", ttl=60)
        await writer.append(*((recorded.event, recorded.time) for recorded in facts))
        await writer.release()

    found = ScriptedWorld(greets())
    found.ports = Ports(now=lambda: NOW)
    anyio.run(tell)
    return found


def test_a_timeline_is_printed() -> None:
    """A row for each step on one scale, the critical path marked, and what it came to."""
    expected = [
        "     0                                                      20.0 s  ran    slack",
        "  a  █████████████                                                  4.0 s  2.0 s",
        "* b  ░░░░░░░░░░░░███████████████████                                6.0 s  0.0 s",
        "* c                                ·······████████████              4.0 s  0.0 s",
        "· queued  ░ waits for a slot  █ runs  ? waits for a person  - nobody at work  * on the critical path",
        "wall 20.0 s, step time 14.0 s, critical path 10.0 s (b, c), parallelism 0.7",
    ]

    assert expected == timeline_lines(timeline(RUN), width=80)
    assert expected[-1] == typed("show", "r1", "--timeline", world=world(RUN)).stdout.splitlines()[-1]


def test_programs_get_an_object() -> None:
    """The same as plain JSON."""
    report = json.loads(typed("show", "r1", "--timeline", "--json", world=world(RUN)).stdout)

    assert (20.0, 14.0, 10.0, 0.7, ["b", "c"]) == (
        report["wall"],
        report["step_seconds"],
        report["path_seconds"],
        report["parallelism"],
        report["path"],
    )
    assert {"state": "slot", "begin": 0.0, "end": 4.0} == report["rows"][1]["stretches"][0]
    assert [2.0, 0.0, 0.0] == [row["slack"] for row in report["rows"]]


def test_a_picture_is_written(tmp_path: Path) -> None:
    """With --svg alone nothing else is printed; with both there are both."""
    file = tmp_path / "run.svg"
    alone = typed("show", "r1", "--svg", file, world=world(RUN))
    both = typed("show", "r1", "--svg", file, "--timeline", world=world(RUN))

    assert (0, "") == (alone.exit_code, alone.stdout)
    assert str(file) in alone.stderr
    assert file.read_text(encoding="utf-8").startswith("<svg ")
    assert "&lt;b&gt;" in file.read_text(encoding="utf-8")
    assert "parallelism" in both.stdout


def test_a_place_that_can_not_be_written(tmp_path: Path) -> None:
    """It is said which, and why."""
    result = typed("show", "r1", "--svg", tmp_path / "nowhere" / "run.svg", world=world(RUN))

    assert 0 != result.exit_code
    assert "No such file" in result.stderr


def test_who_waits_goes_on_waiting() -> None:
    """A suspended run is drawn up to now: nothing has moved in it since."""
    facts = told(STARTED, (0, starts("a")), (10, pauses("a")), (10, suspended("a")), since=NOW.timestamp() - 40)
    (_, line, *_, summary) = typed("show", "r1", "--timeline", world=world(facts)).stdout.splitlines()

    assert line.count("?") == pytest.approx(3 * line.count("█"), abs=2)
    assert "wall 40.0 s (nobody worked on it for 30.0 s)" in summary


def test_names_that_would_steer_the_terminal() -> None:
    """They are made harmless, and cut."""
    nasty = "\x1b[2J" + "n" * 60
    lines = timeline_lines(timeline(told((0, starts(nasty)), (1, skips("b")))), width=100)

    assert "\x1b" not in "".join(lines)
    assert all(len(line) <= 101 for line in lines[:-2])
    assert any("…" in line for line in lines)


def test_what_was_short_is_seen_all_the_same() -> None:
    """Something of every stretch's step is drawn, at its place, in however few characters."""
    short = Row(step="a", stretches=(Stretch("running", 999.99, 999.991),), slack=0.0)
    never = Row(step="b")
    lines = timeline_lines(
        Timeline(rows=(short, never), wall=1000.0, away=0.0, step_seconds=0.0, path=(), path_seconds=0.0), width=10
    )

    assert 1 == lines[1].count("█")
    assert 0 == lines[2].count("█")
    assert lines[2].rstrip().endswith("not begun")
