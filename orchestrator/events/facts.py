"""Facts: what happened in a run, once and for all. They are journalled, and fold into `RunState`."""

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from orchestrator.events.figures import Summary
from orchestrator.events.spending import BudgetDrawn, LandingBegan, ModelChosen
from orchestrator.waiting import Decision, Waiting
from planner import Diagnostic, Plan
from planner.past import Past
from planner.results import Failed, StepResult, Verdict
from registry.budget import UNLIMITED, Amounts, WhenUnpriced
from registry.calls import Purpose
from registry.messages import Json, Reply
from registry.tools.tool import Effect, Observation
from registry.usage import Usage
from registry.values import Tagged

SCHEMA = 1
"""The version of these types, and of what goes into the digests of call keys. A run of a newer one is not read."""

RunOutcome = Literal["achieved", "missing", "failed", "suspended", "cancelled"]
Phase = Literal["planning", "executing", "analyzing", "replanning", "synthesis", "selecting_tools"]


class RunStarted(Tagged, frozen=True, kw_only=True):
    """A goal, or a submitted plan, was accepted. `today` is the date that every prompt of this run shows (ISO 8601).

    `limits` hold for all lives of the run, and what they say of models without a price does. `setup` is for whoever began the
    run, to begin it again in the same way: the engine does not read it.
    """

    goal: str
    plan: Plan | None
    inputs: Mapping[str, Json]
    today: str
    limits: Amounts = UNLIMITED
    unpriced: WhenUnpriced = "refuse"
    setup: Mapping[str, Json] = field(default_factory=dict)
    schema: int = SCHEMA


class PhaseBegan(Tagged, frozen=True, kw_only=True):
    phase: Phase
    total_tools: int = 0


class PlanReady(Tagged, frozen=True, kw_only=True):
    """The plan of this round, from 1, and how long its steps took in `past` runs. The diff names step ids, none in the first.

    `heard` is how many of the user's messages it takes into account.
    """

    plan: Plan
    round: int = 1
    diagnostics: tuple[Diagnostic, ...] = ()
    diff: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    past: Past = field(default_factory=dict)
    heard: int = 0
    usage: Usage = Usage()


class PlanRejected(Tagged, frozen=True, kw_only=True):
    """There was no plan to be had from what the planner's model said, which its replies before this one hold.

    A resumed run asks anew instead of reading them again.
    """

    round: int
    diagnostics: tuple[Diagnostic, ...] = ()
    usage: Usage = Usage()


class StepStarted(Tagged, frozen=True, kw_only=True):
    """`model` is empty for a step that uses none. `attempt` counts from 1."""

    step: str
    step_kind: str
    scope: str
    attempt: int = 1
    task: str = ""
    model: str = ""


class StepRetried(Tagged, frozen=True, kw_only=True):
    """A try at a step ended so, and another follows within the same attempt."""

    scope: str
    result: Failed
    attempt: int = 1


class ModelReplied(Tagged, frozen=True, kw_only=True):
    """A model call ended well. On resume the reply is given out again under the same key."""

    key: str
    scope: str
    purpose: Purpose
    step: str
    iteration: int
    reply: Reply
    seconds: float


class ModelFailed(Tagged, frozen=True, kw_only=True):
    """A model call failed for good, retries included. Not a result: on resume it is tried again."""

    key: str
    scope: str
    purpose: Purpose
    step: str
    iteration: int
    error: str
    message: str
    usage: Usage


class ToolStarted(Tagged, frozen=True, kw_only=True):
    """The intent to run a tool, written before anything runs. `arguments` is JSON text."""

    key: str
    scope: str
    step: str
    iteration: int
    call_id: str
    tool: str
    arguments: str
    effect: Effect


class ToolEnded(Tagged, frozen=True, kw_only=True):
    """`same_as` is the key of the call whose outcome it took because it is the same, empty where it ran itself."""

    key: str
    scope: str
    step: str
    iteration: int
    observation: Observation
    same_as: str = ""


class StepEnded(Tagged, frozen=True, kw_only=True):
    """The one way a step ends, whatever its end: succeeded, failed or skipped.

    `same_as` is the step whose result it took because it does the same, empty where its own work led to it. `like` is what it
    shares with steps that take about as long, empty where its seconds say nothing of theirs."""

    scope: str
    result: StepResult
    attempt: int = 1
    same_as: str = ""
    like: str = ""


class StepPaused(Tagged, frozen=True, kw_only=True):
    """A step can't go on until somebody answers. Its siblings do."""

    waiting: Waiting


class Answered(Tagged, frozen=True, kw_only=True):
    """Somebody answered, `by` whom if they said so. `waiting` is the id of what they were shown, `key` the call's or step's."""

    waiting: str
    key: str
    decision: Decision
    text: str = ""
    by: str = ""


class InterruptReceived(Tagged, frozen=True, kw_only=True):
    text: str


class InterruptHeard(Tagged, frozen=True, kw_only=True):
    """An agent took in messages, at the `place` of its loop where it listened, from 1: a resumed one hears them there again."""

    scope: str
    attempt: int
    step: str
    place: int
    texts: tuple[str, ...]


class VerdictReached(Tagged, frozen=True, kw_only=True):
    """`heard` is how many of the user's messages were known when it was asked for."""

    verdict: Verdict
    round: int
    heard: int = 0
    usage: Usage = Usage()


class AnswerWritten(Tagged, frozen=True, kw_only=True):
    """The answer, whole. `by` says who wrote it: a model's name, `step:<id>`, or `fallback` when no model could."""

    text: str
    by: str
    usage: Usage = Usage()


class RunEnded(Tagged, frozen=True, kw_only=True):
    """The one way a run ends for good. `error` is the sentence of what ended it, empty where it ended well. `answer` is the
    whole answer, empty where there is none."""

    outcome: RunOutcome
    summary: Summary
    error: str = ""
    answer: str = ""


class RunSuspended(Tagged, frozen=True, kw_only=True):
    """Nothing can go on until somebody answers. The process may end; the run goes on when it is resumed."""

    waiting: tuple[Waiting, ...]
    summary: Summary


class CancelRequested(Tagged, frozen=True, kw_only=True):
    """Somebody wants the run ended for good. Nothing new starts after this."""

    why: str = ""


class StopRequested(Tagged, frozen=True, kw_only=True):
    """Somebody wants no further steps. Those that run finish, the rest is skipped, and the answer is made from what there is."""

    why: str = ""


class RunInterrupted(Tagged, frozen=True, kw_only=True):
    """The process stopped working on the run; it can be resumed."""

    why: str


class TailCut(Tagged, frozen=True, kw_only=True):
    """The last records of the run were damaged and were set aside: the run goes on from before them."""

    records: int


Word = Answered | InterruptReceived | CancelRequested | StopRequested
"""What others say to a run, whether or not somebody works on it. All other Facts are told by that work."""

_OfTheRun = RunStarted | RunEnded | RunInterrupted | RunSuspended | TailCut | BudgetDrawn | LandingBegan
_OfTheStory = PhaseBegan | PlanReady | PlanRejected | VerdictReached | AnswerWritten
_OfItsSteps = StepStarted | StepRetried | StepEnded | StepPaused | InterruptHeard | ModelChosen
_OfItsCalls = ModelReplied | ModelFailed | ToolStarted | ToolEnded

Fact = _OfTheRun | _OfTheStory | _OfItsSteps | _OfItsCalls | Word
