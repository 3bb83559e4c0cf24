"""`dagwright runs` and `gc`: all runs of the journal, and those that nobody needs any more."""

import re
import shutil
from collections.abc import Mapping
from datetime import timedelta

import orjson

from orchestrator.cli.ending import ACHIEVED, say
from orchestrator.cli.options import Options
from orchestrator.cli.runs.recalling import Recalled, glanced_at, looked_at, with_journal
from orchestrator.cli.runs.showing import board_of
from orchestrator.cli.view.plain import WIDTH
from orchestrator.cli.view.text import cost_told, counted, one_line, seconds_told, table
from orchestrator.cli.world import World
from orchestrator.errors import RunHeld
from orchestrator.journal.protocol import Journal, Listed
from orchestrator.standing import FINISHED
from registry.errors import ConfigurationError
from registry.messages import Json

NEWEST = 20
"""Runs that are listed unless all are wanted."""

_UNITS: Mapping[str, timedelta] = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}


def list_runs(world: World, options: Options, *, everything: bool = False) -> int:
    """Prints the runs of the journal, the newest first: a table, or a line of JSON each."""

    async def found(journal: Journal) -> tuple[list[Recalled], int]:
        runs = (await journal.runs())[::-1]
        return [await looked_at(journal, listed) for listed in (runs if everything else runs[:NEWEST])], len(runs)

    runs, there_are = with_journal(world, options, found)
    if options.as_json:
        for past in runs:
            print(orjson.dumps(_report(past)).decode())
        return ACHIEVED
    if not runs:
        say("no runs yet; begin one with: dagwright run GOAL")
        return ACHIEVED
    width = shutil.get_terminal_size((WIDTH, 0)).columns
    now = world.ports.now().timestamp()
    print("\n".join(table([("run", "state", "when", "steps", "cost", "goal"), *(_row(past, now) for past in runs)], width=width)))
    if len(runs) < there_are:
        say(f"and {there_are - len(runs):,} older; --all shows them")
    return ACHIEVED


def forget_runs(world: World, options: Options, *, older_than: str, keep: int, dry_run: bool) -> int:
    """Forgets the runs that ended longer ago than that, but for the `keep` newest ones; prints which, a line each.

    Runs that can still come to something are kept whatever their age: those that wait, were interrupted, or are worked on.
    """
    least = world.ports.now().timestamp() - _age(older_than).total_seconds()

    async def forgotten(journal: Journal) -> list[Listed]:
        runs = [listed for listed in await journal.runs() if await glanced_at(journal, listed) in FINISHED]
        old = [listed for listed in runs[: max(0, len(runs) - keep)] if (listed.latest or 0) < least]
        return old if dry_run else [listed for listed in old if await _forgotten(journal, listed)]

    gone = with_journal(world, options, forgotten)
    now = world.ports.now().timestamp()
    for listed in gone:
        print(f"{one_line(listed.run)}  {_when(listed, now)}  {counted(listed.facts, 'record')}")
    did = "would forget" if dry_run else "forgot"
    say(f"{did} {counted(len(gone), 'run')}, {counted(sum(listed.facts for listed in gone), 'record')}")
    return ACHIEVED


async def _forgotten(journal: Journal, listed: Listed) -> bool:
    try:
        await journal.forget(listed.run)
    except RunHeld:  # somebody has just resumed it
        return False
    return True


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})([dhm])", text.strip())
    if found is None:
        raise ConfigurationError(f"--older-than {text!r} is no age; write 30d, 12h or 45m")
    return int(found[1]) * _UNITS[found[2]]


def _row(past: Recalled, now: float) -> tuple[str, ...]:
    state = past.standing + (f" by {past.listed.holder}" if past.listed.holder else "")
    goal = past.listed.damage or (past.state.started.goal if past.state.started else "")
    done, steps = _steps(past)
    return (
        one_line(past.run),
        one_line(state),
        _when(past.listed, now),
        f"{done}/{steps}" if steps else "",
        cost_told(past.state.usage),
        one_line(goal),
    )


def _report(past: Recalled) -> dict[str, Json]:
    listed, usage = past.listed, past.state.usage
    done, steps = _steps(past)
    return {
        "run": past.run,
        "state": past.standing,
        "holder": listed.holder,
        "damage": listed.damage,
        "began": listed.began,
        "latest": listed.latest,
        "done": done,
        "steps": steps,
        "cost": f"{usage.cost:f}",
        "cost_exact": usage.cost_exact,
        "goal": past.state.started.goal if past.state.started else "",
    }


def _steps(past: Recalled) -> tuple[int, int]:
    """How many steps of its last plan are done, and how many there are."""
    board = board_of(past)
    return len(board.in_state("completed")), len(board.rows)


def _when(listed: Listed, now: float) -> str:
    """How long ago its latest Fact was written."""
    if listed.latest is None:
        return ""
    seconds = max(0.0, now - listed.latest)
    days = int(seconds // 86_400)
    return f"{counted(days, 'day')} ago" if days else f"{seconds_told(seconds)} ago"
