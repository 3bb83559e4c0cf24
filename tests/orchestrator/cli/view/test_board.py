"""What every step is doing."""

import pytest

from orchestrator.cli.view.board import Board, State
from orchestrator.events.facts import Answered, PlanReady, StepEnded, StepPaused
from orchestrator.events.glimpses import StepAdmitted, StepQueued
from orchestrator.events.project import project
from orchestrator.events.recorded import Event
from orchestrator.waiting import Waiting
from planner import Plan, Step
from planner.results import Succeeded
from tests.orchestrator.cli.view.script import (
    ENDS,
    GUESSED,
    PLANNING,
    REVISED,
    SIDE_BY_SIDE,
    USAGE,
    recorded,
    replied,
    started,
)


def board(*parts: tuple[Event, ...], now: float = 0.0) -> Board:
    """The board after these parts of a run, each told a second after the one before."""
    board = Board()
    for second, part in enumerate(parts):
        for envelope in recorded(part):
            for message in project(envelope).messages:
                board.take(message, now=now + second)
    return board


@pytest.mark.parametrize(
    ("parts", "phase", "states"),
    [
        pytest.param((), "", {}, id="nothing yet"),
        pytest.param((PLANNING,), "executing", {"look": "waiting", "sum": "waiting", "merge": "waiting"}, id="planned"),
        pytest.param(
            (PLANNING, SIDE_BY_SIDE), "executing", {"look": "running", "sum": "running", "merge": "waiting"}, id="running"
        ),
        pytest.param(
            (PLANNING, SIDE_BY_SIDE, ENDS), "executing", {"look": "completed", "sum": "failed", "merge": "skipped"}, id="ended"
        ),
        pytest.param(
            (PLANNING, SIDE_BY_SIDE, ENDS, REVISED), "executing", {"look": "completed", "guess": "running"}, id="revised"
        ),
        pytest.param(
            (PLANNING, SIDE_BY_SIDE, ENDS, REVISED, GUESSED), "synthesis", {"look": "completed", "guess": "completed"}, id="done"
        ),
    ],
)
def test_steps_have_states(parts: tuple[tuple[Event, ...], ...], phase: str, states: dict[str, State]) -> None:
    """Rows follow the plan's order and the steps' ends; a revised plan keeps the rows of the steps that it kept."""
    seen = board(*parts)

    assert (phase, states) == (seen.phase, {step: row.state for step, row in seen.rows.items()})
    assert list(states) == list(seen.rows)


def test_running_steps_say_what_they_do() -> None:
    """A running step names the tools under way, else that it is thinking; a waiting one what it comes after."""
    seen = board(PLANNING, SIDE_BY_SIDE)

    assert {"look": "search, read", "sum": "calculator", "merge": "after look, sum"} == {
        step: row.doing for step, row in seen.rows.items()
    }


def test_a_tool_that_ended_is_not_under_way() -> None:
    """Of two calls side by side, the one that still runs is named."""
    assert "read" == board(PLANNING, SIDE_BY_SIDE, ENDS[:1]).rows["look"].doing


def test_thinking_begins_and_ends() -> None:
    """Between a question to the model and its reply a step thinks."""
    assert "thinking" == board(SIDE_BY_SIDE[:2]).rows["look"].doing
    assert "" == board(SIDE_BY_SIDE[:5]).rows["look"].doing


def test_ends_say_why() -> None:
    """A failed step tells its error, a skipped one its reason."""
    seen = board(PLANNING, SIDE_BY_SIDE, ENDS)

    assert "ToolFailed: error: no such\nnumber" == seen.rows["sum"].doing
    assert "sum failed" == seen.rows["merge"].doing


def test_time_runs_until_the_end() -> None:
    """A running step's time goes on; one that ended has the time that its end told, whatever the clock says."""
    running, over = board(PLANNING, SIDE_BY_SIDE, now=10.0), board(PLANNING, SIDE_BY_SIDE, ENDS)

    assert 4.0 == running.rows["look"].elapsed(15.0)
    assert 2.5 == over.rows["look"].elapsed(1000.0)


def test_tokens_add_up_while_a_step_runs() -> None:
    """Each reply adds its tokens; a new attempt counts anew, since the end tells the tokens of one attempt."""
    seen = board((started("a", model="m"), replied("a"), replied("a")))
    assert (2 * USAGE.tokens, True) == (seen.rows["a"].tokens, seen.rows["a"].tokens_exact)

    seen = board((started("a", model="m"), replied("a"), started("a", model="m", attempt=2)))
    assert 0 == seen.rows["a"].tokens


def test_a_step_that_was_not_done_says_whose_result_it_takes() -> None:
    """It has ended like the one that does the same, at no cost."""
    seen = board((StepEnded(scope="b", result=Succeeded(step="b", output="x"), same_as="a"),))

    assert ("completed", "the same as a", 0) == (seen.rows["b"].state, seen.rows["b"].doing, seen.rows["b"].tokens)


def test_depth_is_the_longest_way() -> None:
    """Steps of one depth may run side by side, wherever they stand in the plan."""
    steps = (
        Step(id="end", task="x", depends_on=("start", "middle")),
        Step(id="middle", task="x", depends_on=("start",)),
        Step(id="start", task="x"),
        Step(id="alone", task="x"),
    )

    seen = board((PlanReady(plan=Plan(goal="g", steps=steps)),))

    assert {"end": 2, "middle": 1, "start": 0, "alone": 0} == {step: row.depth for step, row in seen.rows.items()}


def test_a_long_chain_is_laid_out() -> None:
    """Depth knows no limit: a chain of thousands of steps is a plan like any other."""
    steps = tuple(Step(id=str(n), task="x", depends_on=(str(n - 1),) if n else ()) for n in range(3000))

    assert 2999 == board((PlanReady(plan=Plan(goal="g", steps=steps)),)).rows["2999"].depth


def test_who_queues_is_not_running() -> None:
    """A step whose request waits for a slot is shown as waiting, and that time is not counted as its own."""
    queued = board(PLANNING, (started("look"),), (StepQueued(step="look"),))
    admitted = board(PLANNING, (started("look"),), (StepQueued(step="look"),), (StepAdmitted(step="look", waited=1.0),))

    assert ("waiting", "waits for a free request slot") == (queued.rows["look"].state, queued.rows["look"].doing)
    assert ("running", 3.0) == (admitted.rows["look"].state, admitted.rows["look"].elapsed(now=5.0))


SEND = Waiting(step="look", key="k", what="Send this?", kind="approval")


def test_a_step_that_asked_goes_on_when_it_is_answered() -> None:
    """The time it waited is not its own."""
    seen = board(
        (*PLANNING, *SIDE_BY_SIDE), (StepPaused(waiting=SEND),), (Answered(waiting=SEND.id, key="k", decision="approve"),)
    )

    assert ("running", "answered") == (seen.rows["look"].state, seen.rows["look"].note)
    assert 1.0 == seen.rows["look"].elapsed(3.0)


@pytest.mark.parametrize(
    "answered",
    [
        pytest.param(Answered(waiting=SEND.id, key="k", decision="approve"), id="its step has ended since"),
        pytest.param(Answered(waiting="w1", key="k", decision="approve"), id="asked by a step of another plan"),
    ],
)
def test_an_answer_that_nothing_waits_for_changes_nothing(answered: Answered) -> None:
    """Such as one that comes after the step timed out."""
    seen = board((*PLANNING, *SIDE_BY_SIDE), (StepPaused(waiting=SEND),), ENDS, (answered,))

    assert "completed" == seen.rows["look"].state


def test_what_ran_waits_when_nobody_works_on_it() -> None:
    """And nothing else changes."""
    seen = board(PLANNING, SIDE_BY_SIDE)
    seen.halt()

    assert {"look": "interrupted", "sum": "interrupted", "merge": "after look, sum"} == {
        step: row.note for step, row in seen.rows.items() if row.state == "waiting"
    }
