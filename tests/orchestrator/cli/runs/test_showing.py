"""`dagwright show` and `logs`: one run, as it stands and as it went."""

import json
from datetime import UTC, datetime

import anyio
import pytest

from orchestrator.events.facts import Fact, RunEnded, RunInterrupted, RunStarted, RunSuspended, StepPaused
from orchestrator.events.recorded import Event, Recorded
from orchestrator.journal.memory import MemoryJournal
from orchestrator.waiting import Waiting
from tests.orchestrator.cli.terminal import NOW, ScriptedWorld, greets, remembers, typed
from tests.orchestrator.cli.view.script import ANSWER, ENDS, GLIMPSES, PLANNING, SCRIPT, SIDE_BY_SIDE, SUMMARY

SEND = Waiting(step="look", key="k1", what="Send\nthis?", kind="approval")
BEGAN = f"{datetime.fromtimestamp(NOW.timestamp() - 60, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


def shown(events: tuple[Event, ...], *, held: bool = False) -> list[str]:
    world = remembers({"r1": events}, held=["r1"] if held else [])
    return [line.rstrip() for line in typed("show", "r", world=world).stdout.splitlines()]


def test_a_finished_run_is_shown_whole() -> None:
    """Steps as they ended, with time, tokens and money, and the answer unable to steer the terminal."""
    assert [
        f"run r1: achieved, begun {BEGAN}",
        "goal: g",
        "achieved · 9.0 s · 2 completed",
        "✓ look     small       2.5 s    1,234 tok",
        "  ✓ guess  large  1 min 15 s  ≥ 1,234 tok",
        "plan 2: added guess (after look): Guess it",
        "plan 2: removed sum, merge",
        "plan 2: kept look",
        "4 steps: 2 succeeded, 1 failed, 1 skipped",
        "step time 12.5 s; side by side: look, sum; that won 3.5 s",
        "1 model call, 2 tool calls, 1,234 tokens",
        "cost at least $0.0246",
        "             forecast                actual",
        "model calls  3 / 7 / 31              3",
        "tokens       600 / 10,500 / 248,000  at least 2,468",
        "seconds      1.5 / 28.0 / 930.0      9.0",
        "cost         unknown                 at least $0.0246",
        "answer:",
        "It is",
        "42.",
    ] == shown(SCRIPT)


@pytest.mark.parametrize(
    ("events", "held", "expected"),
    [
        pytest.param((*PLANNING, *SIDE_BY_SIDE), True, ["● look", "● sum", "  ○ merge"], id="running"),
        pytest.param((*PLANNING, *SIDE_BY_SIDE), False, ["○ look", "○ sum", "  ○ merge"], id="died"),
        pytest.param((*PLANNING, *SIDE_BY_SIDE, *ENDS), False, ["✓ look", "✗ sum", "  - merge"], id="ended"),
    ],
)
def test_steps_run_only_while_somebody_works_on_them(events: tuple[Event, ...], held: bool, expected: list[str]) -> None:
    """A step of a process that died waits for the next one."""
    lines = shown(events, held=held)

    assert expected == [line[: len(start)] for line, start in zip(lines[3:6], expected, strict=True)]


def test_a_run_under_way_is_shown_as_of_now() -> None:
    """Its steps began a minute ago, whatever was written since."""
    heading, look, *_ = shown((*PLANNING, *SIDE_BY_SIDE), held=True)[2:]

    assert "running · 1 min 00 s · 2 running · 1 waiting" == heading
    assert "1 min 00 s" in look


@pytest.mark.parametrize(
    ("last", "held", "expected"),
    [
        pytest.param((), True, "follow it with: dagwright logs r1 --follow", id="running"),
        pytest.param((RunInterrupted(why="w"),), False, "go on with: dagwright resume r1", id="interrupted"),
        pytest.param(
            (StepPaused(waiting=SEND), RunSuspended(waiting=(SEND,), summary=SUMMARY)),
            False,
            "answer, and go on with: dagwright resume r1",
            id="suspended",
        ),
        pytest.param(
            (RunEnded(outcome="failed", summary=SUMMARY, error="no network"),),
            False,
            "go on with: dagwright resume r1",
            id="failed",
        ),
        pytest.param(
            (RunEnded(outcome="cancelled", summary=SUMMARY, error="run 'r1' was cancelled"),),
            False,
            "ended with: run 'r1' was cancelled",
            id="cancelled",
        ),
    ],
)
def test_the_last_line_says_what_can_be_done(last: tuple[Fact, ...], held: bool, expected: str) -> None:
    """Where anything can."""
    assert expected == shown((*PLANNING, *last), held=held)[-1]


def test_what_waits_is_shown_in_full() -> None:
    """With the commands that answer it."""
    lines = shown((*PLANNING, StepPaused(waiting=SEND)))

    assert [f"step look waits for approval ({SEND.id}):", "  Send", "  this?", f"dagwright approve r1 {SEND.id}"] == lines[-6:-2]


def test_programs_get_one_object() -> None:
    """All of it as plain JSON."""
    report = json.loads(typed("show", "r1", "--json", world=remembers({"r1": SCRIPT})).stdout)

    assert ("r1", "achieved", "g", []) == (report["run"], report["state"], report["goal"], report["waiting"])
    assert "It is\n\x1b[1m42." == report["answer"]
    assert ["look", "guess"] == [step["id"] for step in report["plan"]["steps"]]
    assert [("look", "completed", 2.5), ("guess", "completed", 75.0)] == [
        (step["step_id"], step["state"], step["seconds"]) for step in report["steps"]
    ]
    assert ("0.0246", 9.0) == (report["summary"]["usage"]["cost"], report["summary"]["wall_seconds"])


def test_a_run_that_has_no_plan_yet() -> None:
    """It is shown all the same."""
    world = remembers({"r1": (RunStarted(goal="g", plan=None, inputs={}, today="2026-12-01"),)})

    assert "interrupted · 0.0 s" in typed("show", "r1", world=world).stdout
    assert json.loads(typed("show", "r1", "--json", world=world).stdout)["plan"] is None


def test_the_logs_are_the_lines_of_the_run() -> None:
    """Those that it printed where stderr was no terminal."""
    result = typed("logs", "r1", world=remembers({"r1": SCRIPT}))

    lines = result.stdout.splitlines()
    assert (0, "") == (result.exit_code, result.stderr)
    assert ["planning", "plan: 3 steps: look, sum, merge (after look, sum)"] == lines[:2]
    assert "guess: done in 1 min 15 s, at least 1,234 tokens, on large" in lines


def test_programs_get_the_facts() -> None:
    """A line of JSON each, as `run --json` prints them."""
    lines = typed("logs", "r1", "--json", world=remembers({"r1": SCRIPT})).stdout.splitlines()

    kinds = [event.kind for event in SCRIPT if event.kind not in GLIMPSES]
    assert kinds == [json.loads(line)["event"]["kind"] for line in lines]


def test_a_run_under_way_is_followed_to_its_end() -> None:
    """What comes is printed as it comes; with the last Fact, or when nobody works on it any more, it is over."""

    class Growing(MemoryJournal):
        """Each look finds more, and the last one nobody who works on it."""

        more = [ANSWER[-2:-1], ANSWER[-1:]]

        async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
            facts = await super().read(run, after=after)
            if after and self.more:
                await self._writer.append(*((fact, 1.0) for fact in self.more.pop(0)))
                if not self.more:
                    await self._writer.release()
            return facts

        async def begin(self) -> None:
            self._writer = await self.claim("r1", holder="somebody", ttl=60)
            await self._writer.append(*((fact, 1.0) for fact in PLANNING))

    kept = Growing()
    anyio.run(kept.begin)

    lines = typed("logs", "r1", "--follow", "--json", world=ScriptedWorld(greets(), kept=kept)).stdout.splitlines()

    assert [*(event.kind for event in PLANNING), "answer_written", "run_ended"] == [
        json.loads(line)["event"]["kind"] for line in lines
    ]


@pytest.mark.parametrize("command", ["show", "logs", "resume"])
def test_an_unknown_run_is_misuse(command: str) -> None:
    """With the runs that there are."""
    result = typed(command, "x", world=remembers({"r1": SCRIPT}))

    assert (2, "") == (result.exit_code, result.stdout)
    assert result.stderr == "dagwright: no run 'x' in the journal; there are: r1\n"
