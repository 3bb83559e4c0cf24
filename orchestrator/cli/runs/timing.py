"""`dagwright show --timeline` and `--svg`: how the time of a run went."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import orjson
from msgspec import to_builtins

from orchestrator.cli.ending import ACHIEVED, say
from orchestrator.cli.options import Options
from orchestrator.cli.runs.recalling import Recalled, remembered
from orchestrator.cli.view.plain import WIDTH
from orchestrator.cli.view.text import listed, one_line, seconds_told, table
from orchestrator.cli.world import World
from orchestrator.timeline.rows import Timeline, timeline
from orchestrator.timeline.stretches import State, Stretch
from orchestrator.timeline.svg import drawn
from registry.errors import ConfigurationError
from registry.messages import Json

MARKS: dict[State, str] = {"queued": "·", "slot": "░", "running": "█", "person": "?", "away": "-"}

LEGEND = "· queued  ░ waits for a slot  █ runs  ? waits for a person  - nobody at work  * on the critical path"

_NAMES = 28
"""The most characters of a step's name."""

_LEAST = 20
"""Characters of the narrowest bar."""

_HEADS = ("ran", "slack")


def show_timeline(world: World, name: str, options: Options, *, printed: bool, svg: Path | None) -> int:
    """Prints the timeline of a run, writes it to a file as a picture, or both. Returns the exit code."""
    past = remembered(world, options, name)
    shown = timeline_of(past, now=world.ports.now().timestamp())
    if svg is not None:
        write_svg(svg, past, shown)
        say(f"the timeline of run {past.run} is in {svg}")
    if printed and options.as_json:
        print(orjson.dumps(timeline_report(shown)).decode())
    elif printed:
        print("\n".join(timeline_lines(shown, width=shutil.get_terminal_size((WIDTH, 0)).columns)))
    return ACHIEVED


def timeline_of(past: Recalled, *, now: float) -> Timeline:
    """The timeline of a run, up to now if somebody works on it or it waits."""
    return timeline(past.facts, now=now if past.standing in ("running", "suspended") else None)


def timeline_lines(shown: Timeline, *, width: int) -> list[str]:
    """A row for each step, in so many characters, and below them what it all came to."""
    figures = [(row.figures, "" if row.slack is None else f"{row.slack:.1f} s") for row in shown.rows]
    names = [f"{'*' if row.critical else ' '} {'  ' * row.depth}{one_line(row.step)}" for row in shown.rows]
    room = min(max(map(len, names), default=0), _NAMES)
    bars = max(_LEAST, width - room - 2 - sum(2 + max(map(len, column)) for column in zip(*figures, _HEADS, strict=True)))
    scale = f"0{seconds_told(shown.wall):>{bars - 1}}"
    rows = [
        (name if len(name) <= room else f"{name[: room - 1]}…", _bar(row.stretches, shown.wall, bars), *figure)
        for name, row, figure in zip(names, shown.rows, figures, strict=True)
    ]
    return [*table([("", scale, *_HEADS), *rows]), LEGEND, summary_line(shown)]


def summary_line(shown: Timeline) -> str:
    """What the time of the run came to, in one line."""
    worked = f" (nobody worked on it for {seconds_told(shown.away)})" if shown.away else ""
    path = f" ({listed(list(shown.path))})" if shown.path else ""
    return (
        f"wall {seconds_told(shown.wall)}{worked}, step time {seconds_told(shown.step_seconds)}, "
        f"critical path {seconds_told(shown.path_seconds)}{path}, parallelism {shown.parallelism:.1f}"
    )


def timeline_report(shown: Timeline) -> dict[str, Json]:
    """The same for programs. Times are seconds since the run began."""
    rows = [{**to_builtins(row), "stretches": [stretch._asdict() for stretch in row.stretches]} for row in shown.rows]
    return {**to_builtins(shown), "rows": rows, "path": list(shown.path), "parallelism": shown.parallelism}


def write_svg(file: Path, past: Recalled, shown: Timeline) -> None:
    """The picture as the file's new content. Raises `ConfigurationError` where it can't be written."""
    title = f"run {past.run}: {past.started.goal}"
    try:
        file.write_text(drawn(shown, title=title, summary=summary_line(shown)), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"the picture can't be written to {str(file)!r}: {error.strerror}") from error


def _bar(stretches: Sequence[Stretch], wall: float, cells: int) -> str:
    """What the step was doing in each cell of time, for the most part; however short it was, something of it is seen."""
    spent: list[dict[State, float]] = [{} for _ in range(cells)]
    cell = wall / cells or 1.0
    for state, begin, end in stretches:
        first = min(cells - 1, int(begin / cell))
        for place in range(first, min(cells, max(first + 1, math.ceil(end / cell)))):
            within = max(0.0, min(end, (place + 1) * cell) - max(begin, place * cell))
            spent[place][state] = spent[place].get(state, 0.0) + within
    return "".join(MARKS[max(each, key=each.__getitem__)] if each else " " for each in spent)
