"""A run as plain lines."""

from io import StringIO

import pytest

from orchestrator.cli.view.plain import FINDINGS, WIDTH, PlainLines, diagnostic_lines
from orchestrator.cli.view.screen import watch
from orchestrator.events.facts import Answered, PlanReady, StepEnded, StepPaused, StepStarted
from orchestrator.events.project import project
from orchestrator.events.recorded import Event
from orchestrator.waiting import Waiting
from planner import Plan, Step
from planner.results import Failed, Succeeded
from tests.orchestrator.cli.view.script import REPAIR, SCRIPT, ended, recorded, started, stream

pytestmark = pytest.mark.anyio

LINES = """\
planning
plan: 3 steps: look, sum, merge (after look, sum)
plan: repair P005: 'luk' named no step (the edge is gone)
executing
look: started on small: Look at it
sum: started beside look: tool
sum: calls calculator {"expression": "1/0"}
look: calls search {"q": "\\u001b[2Jü"}
look: calls read "{"
sum: calculator failed: error: no such number
sum: failed in 0.5 s: ToolFailed: error: no such number
merge: skipped: sum failed
look: done in 2.5 s, 1,234 tokens, on small
message received: Be quick
replanning
plan 2: 2 steps: look, guess (after look)
plan 2: added guess (after look): Guess it
plan 2: removed sum, merge
plan 2: kept look
executing
guess: started again, attempt 2, on large: Guess it
guess: done in 1 min 15 s, at least 1,234 tokens, on large
synthesis
"""


async def test_a_run_in_plain_lines() -> None:
    """Every phase, plan, step and tool has its line, with model, seconds and tokens; the answer is not among them."""
    err = StringIO()
    screen = PlainLines(err)

    await watch(stream(SCRIPT), screen)

    assert LINES == err.getvalue()
    assert not screen.answered


def lines(*events: Event) -> list[str]:
    err = StringIO()
    screen = PlainLines(err)
    for each in recorded(events):
        screen.show(project(each))
    return err.getvalue().splitlines()


async def test_a_step_is_beside_all_that_run() -> None:
    """A step that starts names those under way, and not those that have ended."""
    told = lines(
        started("a", model="m", task="x"),
        started("b", model="m", task="y"),
        ended(Succeeded(step="a", output="", model="m")),
        started("c", model="m", task="z"),
    )

    assert ["a: started on m: x", "b: started on m beside a: y", "c: started on m beside b: z"] == [
        line for line in told if "started" in line
    ]


async def test_what_consists_of_others_is_beside_nothing() -> None:
    """The parts of a map or a plan do its work: they are named, and not the whole around them."""
    told = lines(
        StepStarted(step="each", step_kind="map", scope="each", task="all"),
        started("a", model="m", task="x"),
        StepStarted(step="inner", step_kind="plan", scope="inner", task="some"),
        started("each[0]", model="m", task="y"),
    )

    assert [
        "each: started: all",
        "a: started on m: x",
        "inner: started: some",
        "each[0]: started on m beside a: y",
    ] == told


@pytest.mark.parametrize(
    ("result", "end"),
    [
        pytest.param(Succeeded(step="b", output="", model="m"), "done", id="succeeded"),
        pytest.param(Failed(step="b", error="ToolFailed", message="no"), "failed", id="failed"),
    ],
)
async def test_a_step_that_was_not_done_says_whose_result_it_takes(result: Succeeded | Failed, end: str) -> None:
    """It has no figures, for it took nothing."""
    assert [f"b: {end}: the same as a, whose result it takes"] == lines(StepEnded(scope="b", result=result, same_as="a"))


async def test_a_line_is_a_line() -> None:
    """Neither a long task nor a long id makes a line longer than the width, or hides what happened."""
    told = lines(started("i" * 100 + "\n", model="m", task="word\n" * 100))

    assert 1 == len(told)
    assert WIDTH == len(told[0])
    assert told[0].startswith("i" * 31 + "…: started on m: word word")


async def test_names_of_a_plan_can_not_steer_the_terminal() -> None:
    """A line is stripped as a whole, wherever in it the control characters come from."""
    told = lines(started("a\x1b[2J", model="m\x9b1m", task="\x1b]0;x\x07t"))

    assert ["a: started on m: t"] == told


async def test_a_wide_plan_takes_one_line() -> None:
    """A plan of hundreds of steps is told by its beginning."""
    plan = Plan(goal="g", steps=tuple(Step(id=f"step-{n}", task="x") for n in range(500)))

    (told,) = lines(PlanReady(plan=plan))

    assert told.startswith("plan: 500 steps: step-0, step-1, ")
    assert told.endswith("…")
    assert len(told) == WIDTH


def test_many_findings_are_counted() -> None:
    """A plan with fifty repairs is not told in fifty lines, and none is passed over in silence."""
    plan = Plan(goal="g", steps=[Step(id="a", task="t")])
    event = PlanReady(plan=plan, diagnostics=(REPAIR,) * 50)
    (message,) = project(recorded((event,))[0]).messages

    lines = list(diagnostic_lines(message.payload))

    assert FINDINGS + 1 == len(lines)
    assert "plan: and 44 more findings, which --json shows in full" == lines[-1]


def test_what_waits_and_what_was_answered_have_their_lines() -> None:
    """The answer stands with the step that asked; what nobody here asked goes by its id."""
    send = Waiting(step="look", key="k", what="Send\nthis?", kind="approval")

    assert [
        "look: waits for approval: Send this?",
        "look: answered by Ada: reject: too dear",
        "w1: answered: approve",
    ] == lines(
        StepPaused(waiting=send),
        Answered(waiting=send.id, key="k", decision="reject", text="too dear", by="Ada"),
        Answered(waiting="w1", key="k", decision="approve"),
    )
