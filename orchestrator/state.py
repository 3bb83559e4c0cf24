"""What the facts of a run fold to: all that a resumed run knows."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from orchestrator.errors import UnknownWaiting
from orchestrator.events.facts import (
    Answered,
    AnswerWritten,
    CancelRequested,
    InterruptHeard,
    InterruptReceived,
    ModelFailed,
    ModelReplied,
    PhaseBegan,
    PlanReady,
    PlanRejected,
    RunEnded,
    RunStarted,
    StepEnded,
    StepPaused,
    StepRetried,
    StepStarted,
    StopRequested,
    ToolEnded,
    ToolStarted,
    VerdictReached,
)
from orchestrator.events.recorded import Event
from orchestrator.events.spending import ModelChosen
from orchestrator.waiting import DECISIONS, Decision, Waiting
from planner.results import Failed, StepResult
from registry.calls import Purpose
from registry.errors import there_are
from registry.messages import Reply
from registry.tools.tool import Observation
from registry.usage import Usage

Attempt = tuple[str, int]
"""The scope of a step and which try it is, from 1."""

Asked = tuple[str, Purpose, str]
"""The scope and the purpose of calls, and which attempt they belong to, as their keys say it: nothing for the first."""


class RunState(Struct):
    """A fold over Facts, in their order. Nothing but `fold` changes it.

    `replies`, `observations` and `begun` go by call key; a call that was begun (so often) and has no observation is in doubt.
    `answered` is how many replies there are.
    `steps` go by the scope of a step, which is its content and not its name, and by attempt; `starts` hold the step's name.
    `usage` is what all calls cost, failed ones too. `rounds` and `phases` are in the order they came; `rejected` are the rounds
    for which no plan was to be had, once for each time. `retried` are the tries that others followed within an attempt. `paused`
    and `answers` go by the id of what waits. `cancelled` says that somebody wants the run ended, `stopped` that it is to begin no
    further steps. `chosen` is the cheaper model that a try at a step is made on. `heard` is what an agent took in of the user's
    messages, by its scope, attempt and place, and `said` are all of these.
    """

    started: RunStarted | None = None
    phases: list[PhaseBegan] = field(default_factory=list)
    rounds: list[PlanReady] = field(default_factory=list)
    rejected: list[int] = field(default_factory=list)
    verdicts: list[VerdictReached] = field(default_factory=list)
    starts: dict[Attempt, str] = field(default_factory=dict)
    retried: dict[Attempt, list[Failed]] = field(default_factory=dict)
    steps: dict[Attempt, StepResult] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    answered: Counter[Asked] = field(default_factory=Counter)
    begun: Counter[str] = field(default_factory=Counter)
    observations: dict[str, Observation] = field(default_factory=dict)
    paused: dict[str, Waiting] = field(default_factory=dict)
    answers: dict[str, Answered] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    answer: AnswerWritten | None = None
    ended: RunEnded | None = None
    cancelled: bool = False
    stopped: StopRequested | None = None
    chosen: dict[Attempt, str] = field(default_factory=dict)
    heard: dict[tuple[str, int, int], tuple[str, ...]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether the run has come to an end that stands. One that failed may be resumed, and end better."""
        return self.ended is not None and self.ended.outcome != "failed"

    @property
    def pending(self) -> tuple[Waiting, ...]:
        """What waits for an answer, in the order it came up."""
        return tuple(waiting for each, waiting in self.paused.items() if each not in self.answers)

    def fold(self, fact: Event) -> None:
        """Take in one more Fact. A Glimpse changes nothing."""
        fold = _FOLDS.get(type(fact))
        if fold is not None:
            fold(self, fact)


def _model_replied(state: RunState, fact: ModelReplied) -> None:
    state.replies.setdefault(fact.key, fact.reply)
    state.usage += fact.reply.usage
    _, _, attempt = fact.key.rpartition("/")[2].partition("@")
    state.answered[fact.scope, fact.purpose, attempt] += 1


def _model_failed(state: RunState, fact: ModelFailed) -> None:
    state.usage += fact.usage


def _tool_started(state: RunState, fact: ToolStarted) -> None:
    state.begun[fact.key] = state.begun.get(fact.key, 0) + 1


def _tool_ended(state: RunState, fact: ToolEnded) -> None:
    state.observations.setdefault(fact.key, fact.observation)


def _step_started(state: RunState, fact: StepStarted) -> None:
    state.starts.setdefault((fact.scope, fact.attempt), fact.step)


def _step_ended(state: RunState, fact: StepEnded) -> None:
    state.steps.setdefault((fact.scope, fact.attempt), fact.result)


def _step_retried(state: RunState, fact: StepRetried) -> None:
    state.retried.setdefault((fact.scope, fact.attempt), []).append(fact.result)


def _step_paused(state: RunState, fact: StepPaused) -> None:
    state.paused.setdefault(fact.waiting.id, fact.waiting)


def _model_chosen(state: RunState, fact: ModelChosen) -> None:
    state.chosen.setdefault((fact.scope, fact.attempt), fact.model)


def _run_started(state: RunState, fact: RunStarted) -> None:
    state.started = fact


def _phase_began(state: RunState, fact: PhaseBegan) -> None:
    if fact.phase != "selecting_tools":  # which is no turn of the run, but of one of its agents
        state.phases.append(fact)


def _plan_ready(state: RunState, fact: PlanReady) -> None:
    state.rounds.append(fact)


def _plan_rejected(state: RunState, fact: PlanRejected) -> None:
    state.rejected.append(fact.round)


def _verdict_reached(state: RunState, fact: VerdictReached) -> None:
    state.verdicts.append(fact)


def _answer_written(state: RunState, fact: AnswerWritten) -> None:
    state.answer = state.answer or fact


def _answered(state: RunState, fact: Answered) -> None:
    state.answers.setdefault(fact.waiting, fact)


def _cancel_requested(state: RunState, fact: CancelRequested) -> None:  # noqa: ARG001 (all folds are called alike)
    state.cancelled |= not state.over


def _stop_requested(state: RunState, fact: StopRequested) -> None:
    state.stopped = state.stopped or fact


def _interrupt_received(state: RunState, fact: InterruptReceived) -> None:
    if fact.text.strip():
        state.said.append(fact.text.strip())


def _interrupt_heard(state: RunState, fact: InterruptHeard) -> None:
    state.heard.setdefault((fact.scope, fact.attempt, fact.place), fact.texts)


def _run_ended(state: RunState, fact: RunEnded) -> None:
    state.ended = fact
    state.cancelled &= fact.outcome in ("failed", "cancelled")


_FOLDS: Mapping[type[Event], Callable[[RunState, Any], None]] = {
    ModelReplied: _model_replied,
    ModelFailed: _model_failed,
    ToolStarted: _tool_started,
    ToolEnded: _tool_ended,
    StepStarted: _step_started,
    StepEnded: _step_ended,
    StepRetried: _step_retried,
    StepPaused: _step_paused,
    ModelChosen: _model_chosen,
    RunStarted: _run_started,
    PhaseBegan: _phase_began,
    PlanReady: _plan_ready,
    PlanRejected: _plan_rejected,
    VerdictReached: _verdict_reached,
    AnswerWritten: _answer_written,
    Answered: _answered,
    CancelRequested: _cancel_requested,
    StopRequested: _stop_requested,
    InterruptReceived: _interrupt_received,
    InterruptHeard: _interrupt_heard,
    RunEnded: _run_ended,
}
"""What each kind of Fact changes. Those that are not here change nothing: they are told, and not asked about later."""


def folded(facts: Iterable[Event]) -> RunState:
    """The state after these facts."""
    state = RunState()
    for fact in facts:
        state.fold(fact)
    return state


def abandoned(state: RunState) -> tuple[StepEnded, ...]:
    """The ends of the steps that were begun and will not be finished, for the run was cancelled."""
    return tuple(
        StepEnded(
            scope=scope,
            attempt=attempt,
            result=Failed(step=step, error="Cancelled", message="the run was cancelled", outcome="cancelled"),
        )
        for (scope, attempt), step in state.starts.items()
        if (scope, attempt) not in state.steps
    )


def answer_to(run: str, state: RunState, waiting: str, decision: Decision, *, text: str = "", by: str = "") -> Answered:
    """The Fact of an answer. `waiting` may be the beginning of an id, where there is but one such.

    Raises `UnknownWaiting` when nothing waits under it, or what waits there has another kind of answer.
    """
    pending = {each.id: each for each in state.pending}
    found = [each for each in pending if waiting and each.startswith(waiting)]
    if len(found) != 1:
        raise UnknownWaiting(run, waiting, "it is the beginning of several" if found else there_are(waiting, pending))
    asked = pending[found[0]]
    allowed = DECISIONS[asked.kind]
    if decision not in allowed:
        raise UnknownWaiting(run, waiting, f"to {asked.kind} one can say {' or '.join(allowed)}, and not {decision}")
    return Answered(waiting=asked.id, key=asked.key, decision=decision, text=text, by=by)
