"""What the Facts of a run fold to."""

import pytest

from orchestrator.events.facts import (
    AnswerWritten,
    Fact,
    InterruptReceived,
    ModelFailed,
    ModelReplied,
    PhaseBegan,
    PlanReady,
    RunEnded,
    RunInterrupted,
    RunStarted,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
    VerdictReached,
)
from orchestrator.events.glimpses import AnswerBegan, AnswerPiece
from orchestrator.events.spending import ModelChosen
from orchestrator.state import RunState, folded
from orchestrator.summary import summarised
from planner import Plan, Step
from planner.results import Achieved, Failed, Succeeded
from registry.messages import Reply
from registry.tools.tool import Observation
from registry.usage import UNMETERED, Usage

ONE = Usage(requests=1, input_tokens=10, output_tokens=5)


def replied(key: str, text: str) -> ModelReplied:
    reply = Reply(text=text, usage=ONE)
    return ModelReplied(key=key, scope="s", purpose="step", step="a", iteration=1, reply=reply, seconds=1.0)


def model_failed(usage: Usage) -> ModelFailed:
    return ModelFailed(key="k", scope="s", purpose="step", step="a", iteration=1, error="X", message="x", usage=usage)


def begun(key: str) -> ToolStarted:
    return ToolStarted(key=key, scope="s", step="a", iteration=1, call_id="1", tool="t", arguments="{}", effect="unkeyed")


def ended(key: str, text: str) -> ToolEnded:
    observation = Observation(call_id="1", name="t", text=text)
    return ToolEnded(key=key, scope="s", step="a", iteration=1, observation=observation)


def test_nothing_folds_to_nothing() -> None:
    """A run without Facts has not begun."""
    assert RunState() == folded([])


def test_the_first_outcome_of_a_key_counts() -> None:
    """One recorded result for each key: a second one is paid for and changes nothing."""
    state = folded([replied("k", "first"), replied("k", "second"), begun("t"), ended("t", "one"), ended("t", "two")])

    assert "first" == state.replies["k"].text
    assert "one" == state.observations["t"].text
    assert 2 == state.usage.requests


def test_a_failed_call_costs_and_is_no_result() -> None:
    """It counts in the usage, unknown as it may be, and the next life asks again."""
    state = folded([replied("j", "x"), model_failed(UNMETERED)])

    assert ["j"] == list(state.replies)
    assert (2, False) == (state.usage.requests, state.usage.exact)


def test_an_intent_without_outcome_is_in_doubt() -> None:
    """What was begun is known by its key, apart from what came of it."""
    state = folded([begun("a"), begun("b"), ended("a", "done")])

    assert {"b"} == state.begun.keys() - state.observations.keys()
    assert 2 == folded([begun("a"), begun("a")]).begun["a"]


def test_steps_go_by_scope_and_attempt() -> None:
    """A second try at the same content is a step of its own."""
    broken, done = Failed(step="a", error="X", message="x"), Succeeded(step="z", output="y")
    facts: list[Fact] = [
        StepStarted(step="a", step_kind="agent", scope="step/1"),
        StepEnded(scope="step/1", result=broken),
        StepStarted(step="z", step_kind="agent", scope="step/1", attempt=2),
        StepEnded(scope="step/1", attempt=2, result=done),
    ]

    assert {("step/1", 1): broken, ("step/1", 2): done} == folded(facts).steps
    assert {("step/1", 1): "a", ("step/1", 2): "z"} == folded(facts).starts


def test_the_story_is_kept_in_order() -> None:
    """Start, phases, rounds, verdicts, answer and end, each as it was written."""
    plan = Plan(goal="g", steps=(Step(id="a", task="t"),))
    started = RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02")
    phases = [PhaseBegan(phase="planning"), PhaseBegan(phase="executing")]
    ready = PlanReady(plan=plan)
    reached = VerdictReached(verdict=Achieved(reasoning=""), round=1)
    answers = [AnswerWritten(text="first", by="m"), AnswerWritten(text="second", by="m")]
    summary = summarised([], wall_seconds=0.0, reused=0)
    ends = [RunEnded(outcome="failed", summary=summary), RunEnded(outcome="achieved", summary=summary)]

    state = folded([started, phases[0], ready, phases[1], reached, *answers, *ends])

    assert (started, phases, [ready], [reached]) == (state.started, state.phases, state.rounds, state.verdicts)
    assert answers[0] == state.answer
    assert ends[1] == state.ended


def test_the_model_of_a_try_is_chosen_once() -> None:
    """What was chosen first stays."""
    chosen = [ModelChosen(scope="s", attempt=2, step="a", model=model) for model in ("small", "smaller")]

    assert {("s", 2): "small"} == folded(chosen).chosen


def test_what_the_user_says_is_kept_in_order() -> None:
    """Without the space around it."""
    assert ["in euros", "Vienna too"] == folded([InterruptReceived(text="in euros "), InterruptReceived(text="Vienna too")]).said


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(RunInterrupted(why="x"), id="interrupted"),
        pytest.param(InterruptReceived(text=" "), id="a blank message"),
        pytest.param(AnswerBegan(), id="a Glimpse"),
        pytest.param(AnswerPiece(text="x", part=0, offset=0), id="a piece"),
    ],
)
def test_what_changes_nothing(event: Fact | AnswerBegan) -> None:
    """Some events are only told."""
    state = RunState()
    state.fold(event)

    assert RunState() == state
