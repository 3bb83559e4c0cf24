"""What watchers are told of an event, on channels and in payloads that clients rely on. Whoever watches sees this alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, assert_never

from msgspec import to_builtins
from pydantic_core import from_json

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
    RunInterrupted,
    RunStarted,
    RunSuspended,
    StepEnded,
    StepPaused,
    StepRetried,
    StepStarted,
    StopRequested,
    TailCut,
    ToolEnded,
    ToolStarted,
    VerdictReached,
)
from orchestrator.events.figures import told
from orchestrator.events.glimpses import (
    AnswerBegan,
    AnswerPiece,
    AnswerReset,
    Compacted,
    Concluding,
    StepAdmitted,
    StepQueued,
    ThinkingBegan,
)
from orchestrator.events.recorded import Event, Recorded, encode
from orchestrator.events.spending import BudgetDrawn, LandingBegan, ModelChosen
from orchestrator.waiting import Waiting
from planner.results import Failed, Skipped, StepResult, Succeeded
from registry.messages import Json, Reply
from registry.tools.artifacts import Artifact
from registry.usage import Usage

Channel = Literal["step", "answer", "compact", "phase", "inject", "plan", "step_progress", "done"]

Told = tuple[Channel, dict[str, Json]]

PREVIEW = 200
"""Characters of a step's output that its end shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMessage:
    """One message on a channel; the payload is plain JSON. `id` is `seq.n` for a Fact's n-th message, None for a Glimpse's."""

    channel: Channel
    payload: Mapping[str, Json]
    id: str | None


@dataclass(frozen=True, kw_only=True)
class Projection:
    """An event as watchers get it: its messages, and its line of JSON."""

    recorded: Recorded
    messages: tuple[ChannelMessage, ...]

    @cached_property  # needs a dict, hence no slots
    def line(self) -> bytes:
        """The event encoded, without the newline: made when first asked for, then shared by all who ask."""
        return encode(self.recorded)


def project(recorded: Recorded) -> Projection:
    """The event's messages, at most two, and none for what only the journal needs."""
    messages = tuple(
        ChannelMessage(channel=channel, payload=payload, id=None if recorded.seq is None else f"{recorded.seq}.{place}")
        for place, (channel, payload) in enumerate(_told(recorded.event, recorded.run))
    )
    return Projection(recorded=recorded, messages=messages)


def _told(event: Event, run: str) -> tuple[Told, ...]:
    match event:
        case RunStarted() | VerdictReached() | InterruptHeard() | TailCut() | BudgetDrawn() | ModelChosen():
            return ()
        case PhaseBegan() | PlanReady() | InterruptReceived() | AnswerWritten() | RunEnded():
            return (_of_the_story(event, run),)
        case PlanRejected() | CancelRequested() | StopRequested() | RunInterrupted() | RunSuspended() | LandingBegan():
            return (("phase", _turn(event)),)
        case StepStarted() | StepRetried() | StepEnded() | StepPaused() | Answered() | StepQueued() | StepAdmitted():
            return (("step_progress", _progress(event)),)
        case ModelReplied() | ModelFailed() | ToolStarted() | ToolEnded():
            return _in_step(event)
        case ThinkingBegan() | Compacted() | Concluding() | AnswerBegan() | AnswerPiece() | AnswerReset():
            return (_glimpsed(event),)
        case _:
            assert_never(event)


def _of_the_story(event: PhaseBegan | PlanReady | InterruptReceived | AnswerWritten | RunEnded, run: str) -> Told:
    match event:
        case PhaseBegan(phase="selecting_tools"):
            return "phase", {"phase": event.phase, "total_tools": event.total_tools}
        case PhaseBegan():
            return "phase", {"phase": event.phase}
        case PlanReady():
            return "plan", {
                "plan": event.plan.model_dump(mode="json"),
                "round": event.round,
                "diagnostics": [to_builtins(found) for found in event.diagnostics],
                "diff": {change: list(steps) for change, steps in event.diff.items()},
            }
        case InterruptReceived():
            return "inject", {"type": "inject", "content": event.text}
        case AnswerWritten():
            return "answer", {"status": "done"}
        case RunEnded():
            end = {"achieved": event.outcome == "achieved", "run_id": run, "outcome": event.outcome, "error": event.error}
            return "done", {"answer": event.answer, **told(event.summary), **end}
        case _:
            assert_never(event)


def _turn(
    event: PlanRejected | CancelRequested | StopRequested | RunInterrupted | RunSuspended | LandingBegan,
) -> dict[str, Json]:
    """A turn that the run takes and that no other channel tells of."""
    match event:
        case PlanRejected():
            return {"phase": "plan_rejected", "diagnostics": [to_builtins(found) for found in event.diagnostics]}
        case CancelRequested():
            return {"phase": "cancelling", "why": event.why}
        case StopRequested():
            return {"phase": "stopping", "why": event.why}
        case LandingBegan():
            return {"phase": "landing", "limit": event.limit, "used": event.used}
        case RunInterrupted():
            return {"phase": "interrupted", "why": event.why}
        case RunSuspended():
            return {"phase": "suspended", "waiting": [_shown(waiting) for waiting in event.waiting]}
        case _:
            assert_never(event)


def _shown(waiting: Waiting) -> dict[str, Json]:
    return {"id": waiting.id, "kind": waiting.kind, "step_id": waiting.step, "what": waiting.what}


def _progress(
    event: StepStarted | StepRetried | StepEnded | StepPaused | Answered | StepQueued | StepAdmitted,
) -> dict[str, Json]:
    match event:
        case StepStarted():
            started = {"model": event.model, "task": event.task, "kind": event.step_kind}
            return {"step_id": event.step, "event": "started", "attempt": event.attempt, **started}
        case StepEnded() | StepRetried():
            return {"step_id": event.result.step, **_ended(event.result), **_beside(event)}
        case StepPaused(waiting=waiting):
            return {"step_id": waiting.step, "event": "paused", "why": waiting.what, "waiting": _shown(waiting)}
        case Answered():
            return {"event": "answered", "waiting": event.waiting, "decision": event.decision, "text": event.text, "by": event.by}
        case StepQueued():
            return {"step_id": event.step, "event": "paused", "why": "waits for a free request slot"}
        case StepAdmitted():
            return {"step_id": event.step, "event": "resumed", "waited": event.waited}
        case _:
            assert_never(event)


def _beside(event: StepEnded | StepRetried) -> dict[str, Json]:
    """What there is to say of the end beside the result: that it is not the last, or not of the step's own making."""
    if isinstance(event, StepRetried):
        return {"event": "retried"}
    return {"same_as": event.same_as} if event.same_as else {}


def _ended(result: StepResult) -> dict[str, Json]:
    match result:
        case Succeeded():
            return {"event": "completed", **_cost(result), "output": result.output[:PREVIEW]}
        case Failed():
            return {"event": "failed", **_cost(result), "error": result.error, "message": result.message}
        case Skipped():
            return {"event": "skipped", "because_of": result.because_of, "reason": result.reason}
        case _:
            assert_never(result)


def _cost(result: Succeeded | Failed) -> dict[str, Json]:
    return {"model": result.model, "seconds": result.seconds, **_tokens(result.usage)}


def _tokens(usage: Usage) -> dict[str, Json]:
    """Where they are not `tokens_exact`, there were at least so many."""
    return {"tokens": usage.tokens, "tokens_exact": usage.exact}


def _in_step(event: ModelReplied | ModelFailed | ToolStarted | ToolEnded) -> tuple[Told, ...]:
    match event:
        case ModelReplied() | ModelFailed():
            return _lap(event) if event.purpose == "step" else ()
        case ToolStarted() | ToolEnded():
            return (("step", _tool(event)),)
        case _:
            assert_never(event)


def _lap(event: ModelReplied | ModelFailed) -> tuple[Told, ...]:
    """A model call of a step's loop: what was thought, and what it cost."""
    lap = {"step_id": event.step, "iteration": event.iteration}
    match event:
        case ModelReplied():
            thought = {**lap, "type": "thinking", "status": "done", "reasoning": _reasoning(event.reply)}
            cost = {**lap, "event": "iteration", "seconds": event.seconds, **_tokens(event.reply.usage)}
            return ("step", thought), ("step_progress", cost)
        case ModelFailed():
            failed = {**lap, "event": "iteration", "error": event.error, "message": event.message, **_tokens(event.usage)}
            return (("step_progress", failed),)
        case _:
            assert_never(event)


def _tool(event: ToolStarted | ToolEnded) -> dict[str, Json]:
    lap = {"step_id": event.step, "type": "iteration", "iteration": event.iteration}
    match event:
        case ToolStarted():
            args = _parsed(event.arguments)
            return {**lap, "status": "start", "call_id": event.call_id, "tool_name": event.tool, "tool_args": args}
        case ToolEnded(observation=seen):
            return {
                **lap,
                "status": "done",
                "call_id": seen.call_id,
                "tool_name": seen.name,
                "observation": seen.text,
                "error": seen.error,
                "iter_elapsed": seen.seconds,
                **({"artifacts": [_artifact(each) for each in seen.artifacts]} if seen.artifacts else {}),
            }
        case _:
            assert_never(event)


def _artifact(made: Artifact) -> dict[str, Json]:
    return {**to_builtins(made), "size": made.size}


def _glimpsed(event: ThinkingBegan | Compacted | Concluding | AnswerBegan | AnswerPiece | AnswerReset) -> Told:
    match event:
        case ThinkingBegan():
            return "step", {"step_id": event.step, "type": "thinking", "status": "start", "iteration": event.iteration}
        case Compacted():
            kept = {"original_messages": event.original_messages, "kept_messages": event.kept_messages}
            return "compact", {"step_id": event.step, "iteration": event.iteration, **kept}
        case Concluding():
            return "step", {"step_id": event.step, "type": "answer", "status": "start"}
        case AnswerBegan():
            return "answer", {"status": "start"}
        case AnswerPiece():
            return "answer", {"status": "delta", "content": event.text, "part": event.part, "offset": event.offset}
        case AnswerReset():
            return "answer", {"status": "reset", "part": event.part, "offset": 0, "why": event.why}
        case _:
            assert_never(event)


def _reasoning(reply: Reply) -> str:
    """Why the model does what it does next. Not every model thinks apart: some say it beside their calls or in their JSON."""
    if reply.calls:
        return reply.reasoning or reply.text
    said = _parsed(reply.text)
    own = said.get("reasoning") if isinstance(said, dict) else None
    return own if isinstance(own, str) and own else reply.reasoning


def _parsed(text: str) -> Json:
    """The JSON value that the text is, or else the text as it stands."""
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return text
