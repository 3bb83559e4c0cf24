"""What the facts of a run fold to: all that a resumed run knows."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

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
from registry.errors import there_are
from registry.messages import Reply
from registry.tools.tool import Observation
from registry.usage import Usage

Attempt = tuple[str, int]
"""The scope of a step and which try it is, from 1."""


@dataclass(slots=True)
class RunState:
    """A fold over Facts, in their order. Nothing but `fold` changes it.

    `replies`, `observations` and `begun` go by call key; a call that was begun (so often) and has no observation is in doubt.
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
        match fact:
            case ModelReplied():
                self.replies.setdefault(fact.key, fact.reply)
                self.usage += fact.reply.usage
            case ModelFailed():
                self.usage += fact.usage
            case ToolStarted():
                self.begun[fact.key] += 1
            case ToolEnded():
                self.observations.setdefault(fact.key, fact.observation)
            case StepStarted():
                self.starts.setdefault((fact.scope, fact.attempt), fact.step)
            case StepEnded():
                self.steps.setdefault((fact.scope, fact.attempt), fact.result)
            case _:
                self._fold_story(fact)

    def _fold_story(self, fact: Event) -> None:
        match fact:
            case RunStarted():
                self.started = fact
            case PhaseBegan() if fact.phase != "selecting_tools":  # which is no turn of the run, but of one of its agents
                self.phases.append(fact)
            case PlanReady():
                self.rounds.append(fact)
            case PlanRejected():
                self.rejected.append(fact.round)
            case VerdictReached():
                self.verdicts.append(fact)
            case AnswerWritten():
                self.answer = self.answer or fact
            case _:
                self._fold_word(fact)

    def _fold_word(self, fact: Event) -> None:
        match fact:
            case Answered():
                self.answers.setdefault(fact.waiting, fact)
            case CancelRequested():
                self.cancelled |= not self.over
            case StopRequested():
                self.stopped = self.stopped or fact
            case InterruptReceived() if fact.text.strip():
                self.said.append(fact.text.strip())
            case InterruptHeard():
                self.heard.setdefault((fact.scope, fact.attempt, fact.place), fact.texts)
            case RunEnded():
                self.ended = fact
                self.cancelled &= fact.outcome in ("failed", "cancelled")
            case _:
                self._fold_step(fact)

    def _fold_step(self, fact: Event) -> None:
        match fact:
            case StepRetried():
                self.retried.setdefault((fact.scope, fact.attempt), []).append(fact.result)
            case StepPaused():
                self.paused.setdefault(fact.waiting.id, fact.waiting)
            case ModelChosen():
                self.chosen.setdefault((fact.scope, fact.attempt), fact.model)
            case _:
                pass


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
