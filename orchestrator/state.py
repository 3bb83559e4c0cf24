"""What the facts of a run fold to: all that a resumed run knows."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.events.facts import (
    AnswerWritten,
    ModelFailed,
    ModelReplied,
    PhaseBegan,
    PlanReady,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
    VerdictReached,
)
from orchestrator.events.recorded import Event
from planner.results import StepResult
from registry.messages import Reply
from registry.tools.tool import Observation
from registry.usage import Usage

Attempt = tuple[str, int]
"""The scope of a step and which try it is, from 1."""


@dataclass(slots=True)
class RunState:
    """A fold over Facts, in their order. Nothing but `fold` changes it.

    `replies`, `observations` and `intents` go by call key; an intent without observation is a call in doubt. `steps` go by the
    scope of a step, which is its content and not its name, and by attempt. `usage` is what all calls cost, failed ones too.
    `rounds` and `phases` are in the order they came.
    """

    started: RunStarted | None = None
    phases: list[PhaseBegan] = field(default_factory=list)
    rounds: list[PlanReady] = field(default_factory=list)
    verdicts: list[VerdictReached] = field(default_factory=list)
    starts: set[Attempt] = field(default_factory=set)
    steps: dict[Attempt, StepResult] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    intents: dict[str, ToolStarted] = field(default_factory=dict)
    observations: dict[str, Observation] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    answer: AnswerWritten | None = None
    ended: RunEnded | None = None

    def fold(self, fact: Event) -> None:
        """Take in one more Fact. A Glimpse changes nothing."""
        match fact:
            case ModelReplied():
                self.replies.setdefault(fact.key, fact.reply)
                self.usage += fact.reply.usage
            case ModelFailed():
                self.usage += fact.usage
            case ToolStarted():
                self.intents.setdefault(fact.key, fact)
            case ToolEnded():
                self.observations.setdefault(fact.key, fact.observation)
            case StepStarted():
                self.starts.add((fact.scope, fact.attempt))
            case StepEnded():
                self.steps.setdefault((fact.scope, fact.attempt), fact.result)
            case _:
                self._fold_story(fact)

    def _fold_story(self, fact: Event) -> None:
        match fact:
            case RunStarted():
                self.started = fact
            case PhaseBegan():
                self.phases.append(fact)
            case PlanReady():
                self.rounds.append(fact)
            case VerdictReached():
                self.verdicts.append(fact)
            case AnswerWritten():
                self.answer = self.answer or fact
            case RunEnded():
                self.ended = fact
            case _:
                pass


def folded(facts: Iterable[Event]) -> RunState:
    """The state after these facts."""
    state = RunState()
    for fact in facts:
        state.fold(fact)
    return state
