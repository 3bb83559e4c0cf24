"""A timeline as a picture that stands alone: no scripts, nothing from outside, fit for light and for dark."""

import math
import re
from collections.abc import Iterator
from html import escape

from orchestrator.timeline.rows import Row, Timeline
from orchestrator.timeline.stretches import State

WIDTH = 1200
"""Of the picture, whatever it shows. A row more makes it higher, and no wider."""

LABEL, AFTER, ROW, BAR, TOP = 250, 170, 18, 12, 64
"""What is left of the bars and right of them; the height of a row, of a bar, and of what stands above the rows."""

LEAST = 1.5
"""The width of a bar that would be too short to be seen."""

_NAMED, _DEEPEST = 34, 6
_TOLD = 300
_TICKS = 10

_SAID: dict[State, str] = {
    "queued": "queued",
    "slot": "waits for a slot",
    "running": "runs",
    "person": "waits for a person",
    "away": "nobody at work",
}

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --faint: #60646c; --line: #d9d9e0; --paper: #ffffff; --queued: #cdced6;
  --slot: #e2a336; --running: #3e63dd; --critical: #d13415; --person: #8e4ec6; --away: #f0f0f3; }
@media (prefers-color-scheme: dark) { :root { --ink: #edeef0; --faint: #b0b4ba; --line: #363a3f; --paper: #111113;
  --queued: #5a6169; --slot: #e2a336; --running: #7b9bff; --critical: #ff977d; --person: #d19dff; --away: #272a2d; } }
text { font: 12px system-ui, sans-serif; fill: var(--ink); } .faint { fill: var(--faint); } .grid { stroke: var(--line); }
.paper { fill: var(--paper); } .queued { fill: var(--queued); } .slot { fill: var(--slot); } .running { fill: var(--running); }
.person { fill: var(--person); } .away { fill: var(--away); } .critical { fill: var(--critical); } .bold { font-weight: 600; }
"""

_UNFIT = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]")
"""What XML can't hold, and what turns the order of other text around."""


def drawn(shown: Timeline, *, title: str, summary: str) -> str:
    """The whole file. Ids, tasks and title may hold anything."""
    height = TOP + ROW * len(shown.rows) + 12
    scale = (WIDTH - LABEL - AFTER) / (shown.wall or 1.0)
    lines = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{_text(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<text class="bold" x="8" y="18">{_text(title, limit=150)}</text>',
        f'<text class="faint" x="8" y="36">{_text(summary, limit=180)}</text>',
        *_legend(),
        *_grid(shown.wall, scale, height),
        *(line for place, row in enumerate(shown.rows) for line in _row(row, TOP + ROW * place, scale)),
        "</svg>",
    )
    return "\n".join(lines) + "\n"


def _legend() -> Iterator[str]:
    for place, (name, said) in enumerate((*_SAID.items(), ("critical", "on the critical path"))):
        x = 8 + 150 * place
        yield f'<rect class="{name}" x="{x}" y="44" width="10" height="10"/>'
        yield f'<text class="faint" x="{x + 14}" y="53">{said}</text>'


def _grid(wall: float, scale: float, height: int) -> Iterator[str]:
    step = _tick(wall)
    for number in range(int(wall / step) + 1 if wall > 0 else 1):
        x = LABEL + number * step * scale
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{height - 12}"/>'
        yield f'<text class="faint" x="{x + 2:.1f}" y="{height - 2}">{number * step:g} s</text>'


def _tick(wall: float) -> float:
    """A round number of seconds of which no more than so many fit."""
    if wall <= 0:
        return 1.0
    least = wall / _TICKS
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= least)


def _row(row: Row, top: float, scale: float) -> Iterator[str]:
    bold, critical = (' class="bold"', " critical") if row.critical else ("", "")
    yield "<g>"
    yield f"<title>{_text(_told(row), limit=_TOLD)}</title>"
    depth = min(row.depth, _DEEPEST)
    yield f'<text{bold} x="{8 + 12 * depth}" y="{top + 11}">{_text(row.step, limit=_NAMED - 2 * depth)}</text>'
    end = float(LABEL)
    for state, begin, until in row.stretches:
        x, width = LABEL + begin * scale, max(LEAST, (until - begin) * scale)
        marked = f"{state}{critical if state == 'running' else ''}"
        yield f'<rect class="{marked}" x="{x:.1f}" y="{top + 2}" width="{width:.1f}" height="{BAR}"/>'
        end = x + width
    yield f'<text class="faint" x="{end + 4:.1f}" y="{top + 11}">{_text(_figures(row))}</text>'
    yield "</g>"


def _figures(row: Row) -> str:
    return row.figures + (f", slack {row.slack:.1f} s" if row.slack else "")


def _told(row: Row) -> str:
    spent = (f"{_SAID[state]} {end - begin:.2f} s" for state, begin, end in row.stretches)
    return "; ".join((row.step, *((row.task,) if row.task else ()), *spent))


def _text(text: str, *, limit: int | None = None) -> str:
    clean = _UNFIT.sub("", text)
    return escape(clean if limit is None or len(clean) <= limit else clean[: limit - 1] + "…")
