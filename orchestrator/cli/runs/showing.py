"""`dagwright show` and `logs`: one run, as it stands and as it went."""

import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from datetime import UTC, datetime

import anyio
import orjson
from msgspec.structs import replace

from orchestrator.cli.ending import ACHIEVED
from orchestrator.cli.forecasting import beside_actual, experience_of, forecast_of
from orchestrator.cli.limiting import limits_for
from orchestrator.cli.options import Options
from orchestrator.cli.runs.recalling import Recalled, named, remembered, with_journal
from orchestrator.cli.setup import Setup
from orchestrator.cli.view import JsonLines, PlainLines, harmless, waiting_lines, watch
from orchestrator.cli.view.board import Board, Row
from orchestrator.cli.view.plain import WIDTH
from orchestrator.cli.view.revision import revision_lines
from orchestrator.cli.view.summary import figure_lines
from orchestrator.cli.view.text import cost_told, one_line
from orchestrator.cli.view.waits import waiting_report
from orchestrator.cli.world import World
from orchestrator.events.facts import RunEnded, RunSuspended
from orchestrator.events.figures import Summary, plain
from orchestrator.events.project import project
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import Journal
from orchestrator.standing import FINISHED
from orchestrator.summary import summarised
from registry.errors import ConfigurationError
from registry.messages import Json

GLANCE = 0.5
"""Seconds between two looks at a run that another process works on."""


def show_run(world: World, name: str, options: Options) -> int:
    """Prints all that there is to know of a run: its steps, what they took and cost, what waits, and the answer."""
    past = remembered(world, options, name)
    if options.as_json:
        print(orjson.dumps(_report(past)).decode())
    else:
        _print_run(world, past, options)
    return ACHIEVED


def show_logs_of(world: World, name: str, options: Options, *, follow: bool = False) -> int:
    """Prints what happened in a run, a line each; with `follow` until nobody works on it any more."""
    screen = JsonLines(sys.stdout) if options.as_json else PlainLines(sys.stdout)

    async def shown(journal: Journal) -> int:
        await watch(_told(journal, name, follow=follow), screen)
        return ACHIEVED

    return with_journal(world, options, shown)


async def _told(journal: Journal, name: str, *, follow: bool) -> AsyncIterator[Recorded]:
    found, seen = named(name, await journal.runs()), 0
    while True:
        for recorded in await journal.read(found.run, after=seen):
            yield recorded
            seen = recorded.place
        if not follow or not found.holder:
            return
        await anyio.sleep(GLANCE)
        found = named(found.run, await journal.runs())


def board_of(past: Recalled) -> Board:
    """What the steps of the run's last plan came to."""
    board = Board()
    for recorded in past.facts:
        for message in project(recorded).messages:
            board.take(message, now=recorded.time)
    if past.standing != "running":
        board.halt()
    return board


def summary_of(past: Recalled) -> Summary:
    """What the run came to so far: as its end tells it, or else by the times of its Facts."""
    last = past.facts[-1].event
    if isinstance(last, RunEnded | RunSuspended):
        return last.summary
    return summarised(past.facts, wall_seconds=past.facts[-1].time - past.facts[0].time, reused=0)


def _print_run(world: World, past: Recalled, options: Options) -> None:
    state, summary, now = past.state, summary_of(past), world.ports.now().timestamp()
    began = datetime.fromtimestamp(past.facts[0].time, UTC).astimezone()
    holder = f" by {past.listed.holder}" if past.listed.holder else ""
    print(f"run {past.run}: {past.standing}{holder}, begun {began:%Y-%m-%d %H:%M:%S}")
    print(f"goal: {harmless(past.started.goal)}")
    if past.standing == "running":
        _print_tree(past, now=now, began=past.facts[0].time)
    else:
        _print_tree(past, now=summary.wall_seconds, began=0.0)
    for line in revision_lines(message for recorded in past.facts for message in project(recorded).messages):
        print(one_line(line, limit=WIDTH))
    print("\n".join(figure_lines(summary)))
    if cost := cost_told(state.usage):
        print(f"cost {cost}")
    for line in _forecast_lines(world, past, options, summary):
        print(line)
    for waiting in past.pending:
        print("\n".join(waiting_lines(past.run, waiting, options.next_command)))
    print("\n".join(_ending(past, options)))


def _forecast_lines(world: World, past: Recalled, options: Options, summary: Summary) -> list[str]:
    """What the last plan was to take, at the prices of the day it was begun, beside what the run took."""
    if not past.state.rounds:
        return []
    settings = world.settings(options.config)
    with suppress(ConfigurationError):  # a run that another program began says nothing of its models
        options = Setup.read(past.run, past.started.setup).options(options)
    began = datetime.fromtimestamp(past.facts[0].time, UTC)
    limits = limits_for(settings, options)
    ready = past.state.rounds[-1]
    experience = experience_of(ready.plan, ready.past, past.started.inputs, settings, options)
    ahead = forecast_of(ready.plan, settings, options, now=began, limits=limits, experience=experience)
    return beside_actual(ahead, past.state.usage, summary.wall_seconds)


def _ending(past: Recalled, options: Options) -> Iterable[str]:
    """The answer or the error that it ended with, and what can be done next."""
    ended = past.state.ended
    if past.standing in FINISHED and ended is not None:
        yield f"answer:\n{harmless(ended.answer)}" if ended.answer else f"ended with: {harmless(ended.error)}"
    if past.standing == "running":
        yield f"follow it with: {options.next_command('logs', past.run, '--follow')}"
    elif past.standing in ("failed", "interrupted", "suspended"):
        yield f"{'answer, and ' if past.pending else ''}go on with: {options.next_command('resume', past.run)}"


def _print_tree(past: Recalled, *, now: float, began: float) -> None:
    """The picture that a terminal was shown while it ran, standing still."""
    from rich.console import Console

    from orchestrator.cli.view.tree import picture

    board = board_of(past)
    board.phase = past.standing
    width = None if sys.stdout.isatty() else WIDTH
    console = Console(file=sys.stdout, width=width, height=len(board.rows) + 5)
    console.print(picture(board, console, now=now, began=began))


def _report(past: Recalled) -> dict[str, Json]:
    state, summary, ended = past.state, summary_of(past), past.state.ended
    plan = state.rounds[-1].plan if state.rounds else past.started.plan
    return {
        "run": past.run,
        "state": past.standing,
        "holder": past.listed.holder,
        "goal": past.started.goal,
        "began": past.facts[0].time,
        "latest": past.facts[-1].time,
        "plan": plan and plan.model_dump(mode="json"),
        "steps": [_row(row) for row in board_of(past).rows.values()],
        "summary": plain(replace(summary, usage=state.usage)),
        "waiting": [waiting_report(past.run, waiting) for waiting in past.pending],
        "answer": ended.answer if ended else "",
        "error": ended.error if ended else "",
    }


def _row(row: Row) -> dict[str, Json]:
    return {
        "step_id": row.step,
        "state": row.state,
        "model": row.model,
        "seconds": row.seconds,
        "tokens": row.tokens,
        "tokens_exact": row.tokens_exact,
        "note": row.note,
    }
