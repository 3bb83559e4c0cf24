"""A goal to an answer, with the exact list of what is told on the way."""

import pytest

from orchestrator import MemoryJournal
from orchestrator.events.recorded import Recorded
from orchestrator.run import Answer
from tests.scenario import ANSWER, GOAL, World

pytestmark = pytest.mark.anyio


async def told(world: World) -> tuple[list[Recorded], Answer]:
    async with world.orchestrator(MemoryJournal()).open(GOAL) as run:
        events = [recorded async for recorded in run.events]
        return events, await run.answer()


def said(recorded: Recorded) -> str:
    """An event in one line: its kind, and what it is about."""
    event = recorded.event
    about = [getattr(event, name, "") for name in ("phase", "purpose", "step", "tool")]
    if event.kind == "step_ended":
        about.append(f"{event.result.step} {event.result.kind}")
    if event.kind == "tool_ended":
        about.append(event.observation.name)
    return " ".join([event.kind, *(each for each in about if each)])


async def test_the_story_in_full() -> None:
    """Plan, walk side by side, fail, judge, revise, reuse, judge again, write: every Fact, in this order."""
    events, answer = await told(World())

    assert [
        "run_started",
        "phase_began planning",
        "model_replied plan plan",
        "plan_ready",
        "phase_began executing",
        "step_started north",
        "step_started south",
        "model_replied step north",
        "tool_started north measure",
        "tool_ended north measure",
        "tool_started north log",
        "tool_ended north log",
        "model_replied step south",
        "tool_started south measure",
        "tool_ended south measure",
        "tool_started south log",
        "tool_ended south log",
        "model_replied step north",
        "step_ended north succeeded",
        "model_replied step south",
        "step_ended south succeeded",
        "step_started compare",
        "model_failed step compare",
        "step_ended compare failed",
        "phase_began analyzing",
        "model_replied verdict verdict",
        "verdict_reached",
        "phase_began replanning",
        "model_replied plan plan",
        "plan_ready",
        "phase_began executing",
        "step_started again",
        "model_replied step again",
        "step_ended again succeeded",
        "phase_began analyzing",
        "model_replied verdict verdict",
        "verdict_reached",
        "phase_began synthesis",
        "model_replied synthesis synthesis",
        "answer_written",
        "run_ended",
    ] == [said(recorded) for recorded in events if recorded.seq is not None]
    assert list(range(1, 42)) == [recorded.seq for recorded in events if recorded.seq is not None]
    assert (ANSWER, "achieved") == (answer.output, answer.outcome)


async def test_the_answer_is_streamed() -> None:
    """Watchers see the answer piece by piece, and the pieces are the answer."""
    events, answer = await told(World())

    pieces = [recorded.event for recorded in events if recorded.event.kind == "answer_piece"]
    assert answer.output == "".join(piece.text for piece in pieces)
    assert len(pieces) > 1
    offsets = [piece.offset for piece in pieces]
    assert [0, *(sum(len(piece.text) for piece in pieces[: place + 1]) for place in range(len(pieces) - 1))] == offsets


async def test_the_summary_adds_up() -> None:
    """Every call is counted, the failed one too, and the steps that overlapped are named."""
    world = World()
    _, answer = await told(world)

    summary = answer.summary
    assert (4, 3, 1, 0) == (summary.steps, summary.succeeded, summary.failed, summary.skipped)
    assert 4 == summary.tool_calls
    assert ("north", "south") == summary.overlapped
    assert len(world.asked) - 1 == answer.usage.requests  # the one that never reached the model cost nothing
    assert 2 == summary.reused
    assert ["north", "south", "again"] == list(answer.steps)
    assert "run1" == answer.run_id


async def test_two_runs_tell_the_same_story() -> None:
    """Order comes from plan and calls, never from timing: two runs have the same Facts."""
    first, _ = await told(World())
    second, _ = await told(World())

    assert [said(recorded) for recorded in first] == [said(recorded) for recorded in second]
