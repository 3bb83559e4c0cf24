"""`dagwright runs` and `gc`: all runs, and those that nobody needs any more."""

import json

import anyio
import pytest

from orchestrator.events.facts import RunEnded, RunInterrupted, RunStarted, RunSuspended
from orchestrator.events.recorded import Event, Recorded
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journal.protocol import Listed
from tests.orchestrator.cli.terminal import NOW, ScriptedWorld, greets, remembers, typed
from tests.orchestrator.cli.view.script import PLANNING, SCRIPT, SUMMARY

DAY = 86_400.0


def ended(outcome: str, goal: str = "g") -> tuple[Event, ...]:
    return RunStarted(goal=goal, plan=None, inputs={}, today="2026-12-01"), RunEnded(outcome=outcome, summary=SUMMARY)


EVERY: dict[str, tuple[Event, ...]] = {
    "achieved": ended("achieved"),
    "missing": ended("missing"),
    "failed": ended("failed"),
    "cancelled": ended("cancelled"),
    "suspended": (*PLANNING, RunSuspended(waiting=(), summary=SUMMARY)),
    "interrupted": (*PLANNING, RunInterrupted(why="w")),
    "died": PLANNING,
    "running": PLANNING,
}


def left(world: ScriptedWorld) -> list[str]:
    return [listed.run for listed in anyio.run(world.kept.runs)]


def test_the_newest_run_comes_first() -> None:
    """With where it stands, when it was last heard of, its steps, cost and goal."""
    result = typed("runs", world=remembers({"r1": SCRIPT, "r2": ended("failed", "Greet\nthe \x1b[2Jharbour")}, ago=90))

    assert 0 == result.exit_code
    assert [
        "run  state     when            steps  cost              goal",
        "r2   failed    1 min 30 s ago                           Greet the harbour",
        "r1   achieved  1 min 30 s ago  2/2    at least $0.0246  g",
    ] == result.stdout.splitlines()


def test_every_state_has_its_word() -> None:
    """The one that is worked on also says by whom."""
    lines = typed("runs", world=remembers(EVERY, held=["running"])).stdout.splitlines()[1:]

    stands = {line.split()[0]: line.split()[1] for line in lines}
    assert {**{run: run for run in EVERY}, "died": "interrupted"} == stands
    assert "running by somebody" in lines[0]


def test_long_lists_are_cut() -> None:
    """The newest twenty, unless all are wanted; and a long goal ends where the line does."""
    world = remembers({f"r{number}": ended("achieved", "goal " * 100) for number in range(25)})

    short, whole = typed("runs", world=world), typed("runs", "--all", world=world)

    assert (21, "dagwright: and 5 older; --all shows them\n") == (len(short.stdout.splitlines()), short.stderr)
    assert 26 == len(whole.stdout.splitlines())
    assert all(len(line) <= 160 for line in whole.stdout.splitlines())
    assert whole.stdout.splitlines()[1].endswith("…")


def test_programs_get_lines_of_json() -> None:
    """Figures as figures, money as exact text."""
    (line,) = typed("runs", "--json", world=remembers({"r1": SCRIPT})).stdout.splitlines()

    assert {
        "run": "r1",
        "state": "achieved",
        "holder": "",
        "damage": "",
        "began": NOW.timestamp() - 60,
        "latest": NOW.timestamp() - 60,
        "done": 2,
        "steps": 2,
        "cost": "0.0246",
        "cost_exact": False,
        "goal": "g",
    } == json.loads(line)


def test_a_damaged_run_is_listed_with_its_damage() -> None:
    """And the others beside it."""

    class Torn(MemoryJournal):
        async def runs(self) -> tuple[Listed, ...]:
            return Listed(run="torn", damage="record 3 is missing"), *await super().runs()

        async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
            return () if run == "torn" else await super().read(run, after=after)

    result = typed("runs", world=ScriptedWorld(greets(), kept=Torn()))

    assert (0, ["torn", "damaged", "record", "3", "is", "missing"]) == (result.exit_code, result.stdout.splitlines()[1].split())


def test_an_empty_journal_says_what_to_do() -> None:
    """On stderr: there is nothing to print."""
    result = typed("runs")

    assert (0, "") == (result.exit_code, result.stdout)
    assert "dagwright run GOAL" in result.stderr


def test_only_what_has_ended_is_forgotten() -> None:
    """Whatever can still come to something stays, however old it is."""
    world = remembers(EVERY, held=["running"], ago=31 * DAY)

    result = typed("gc", world=world)

    assert (0, "dagwright: forgot 4 runs, 8 records\n") == (result.exit_code, result.stderr)
    assert ["suspended", "interrupted", "died", "running"] == left(world)
    assert "achieved  31 days ago  2 records" == result.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], [], id="thirty days"),
        pytest.param(["--older-than", "41d"], ["a", "b", "c"], id="longer"),
        pytest.param(["--older-than", "1m", "--keep", "2"], ["b", "c"], id="but the newest"),
        pytest.param(["--older-than", "1m", "--keep", "4"], ["a", "b", "c"], id="but more than there are"),
        pytest.param(["--dry-run"], ["a", "b", "c"], id="only to look"),
    ],
)
def test_what_stays(arguments: list[str], expected: list[str]) -> None:
    """Of three runs that ended forty days ago."""
    world = remembers({run: ended("achieved") for run in "abc"}, ago=40 * DAY)

    result = typed("gc", *arguments, world=world)

    assert 0 == result.exit_code
    assert expected == left(world)
    assert ("would forget 3 runs" in result.stderr) == ("--dry-run" in arguments)


@pytest.mark.parametrize("age", ["", "30", "d", "-1d", "1w", "1.5d", "9999999d"])
def test_an_age_that_is_none(age: str) -> None:
    """Misuse, with what to write."""
    result = typed("gc", "--older-than", age)

    assert 2 == result.exit_code
    assert "write 30d, 12h or 45m" in result.stderr


def test_a_run_that_is_resumed_meanwhile_is_not_forgotten() -> None:
    """Somebody claimed it between the look and the deed."""

    class Quick(MemoryJournal):
        async def forget(self, run: str) -> None:
            await self.claim(run, holder="another", ttl=60)
            await super().forget(run)

    world = remembers({"a": ended("failed")}, ago=40 * DAY, kept=Quick())

    assert "forgot 0 runs" in typed("gc", world=world).stderr
    assert ["a"] == left(world)
