"""A run with everything in it, told in a fixed order: two steps side by side, a tool, a failure, a revision and an answer."""

from collections.abc import AsyncIterator, Iterable
from decimal import Decimal

import anyio

from orchestrator.events.facts import (
    AnswerWritten,
    InterruptReceived,
    ModelReplied,
    PhaseBegan,
    PlanReady,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
)
from orchestrator.events.figures import Summary
from orchestrator.events.glimpses import AnswerBegan, AnswerPiece, AnswerReset, Concluding, ThinkingBegan
from orchestrator.events.recorded import Event, Recorded
from planner import Diagnostic, Plan, Step, ToolStep
from planner.results import Failed, Skipped, Succeeded
from registry.messages import Reply
from registry.tools.tool import Observation
from registry.usage import UNMETERED, Usage

USAGE = Usage(requests=1, input_tokens=1000, output_tokens=234, cost=Decimal("0.0123"), priced=1)

LOOK = Step(id="look", task="Look at\nit")
MERGE = Step(id="merge", task="Merge both", depends_on=("look", "sum"))
SUM = ToolStep(id="sum", tool="calculator", args={"expression": "1/0"})

FIRST = Plan(goal="g", steps=(LOOK, SUM, MERGE))
SECOND = Plan(goal="g", steps=(LOOK, Step(id="guess", task="Guess it", depends_on=("look",))))

REPAIR = Diagnostic(code="P005", severity="repair", place="/steps/2", message="'luk' named no step", fix="the edge is gone")

SUMMARY = Summary(
    wall_seconds=9.0,
    step_seconds=12.5,
    usage=USAGE,
    tool_calls=2,
    steps=4,
    succeeded=2,
    failed=1,
    skipped=1,
    reused=0,
    overlapped=("look", "sum"),
)


def started(step: str, *, model: str = "", task: str = "", attempt: int = 1) -> StepStarted:
    return StepStarted(step=step, step_kind="agent" if model else "tool", scope=step, model=model, task=task, attempt=attempt)


def called(step: str, call_id: str, tool: str, arguments: str) -> ToolStarted:
    return ToolStarted(
        key=call_id, scope=step, step=step, iteration=1, call_id=call_id, tool=tool, arguments=arguments, effect="pure"
    )


def returned(step: str, call_id: str, tool: str, text: str, *, error: str | None = None) -> ToolEnded:
    observation = Observation(call_id=call_id, name=tool, text=text, error=error, seconds=0.5)
    return ToolEnded(key=call_id, scope=step, step=step, iteration=1, observation=observation)


def replied(step: str, usage: Usage = USAGE) -> ModelReplied:
    return ModelReplied(key=step, scope=step, purpose="step", step=step, iteration=1, reply=Reply(usage=usage), seconds=1.0)


def ended(result: Succeeded | Failed | Skipped) -> StepEnded:
    return StepEnded(scope=result.step, result=result)


PLANNING: tuple[Event, ...] = (
    RunStarted(goal="g", plan=None, inputs={}, today="2026-12-01"),
    PhaseBegan(phase="planning"),
    PlanReady(plan=FIRST, diagnostics=(REPAIR,)),
    PhaseBegan(phase="executing"),
)
SIDE_BY_SIDE: tuple[Event, ...] = (
    started("look", model="small", task="Look at\nit"),
    ThinkingBegan(step="look", iteration=1),
    started("sum"),
    called("sum", "sum", "calculator", '{"expression": "1/0"}'),
    replied("look"),
    called("look", "c1", "search", '{"q": "\\u001b[2Jü"}'),
    called("look", "c2", "read", "{"),
)
ENDS: tuple[Event, ...] = (
    returned("look", "c1", "search", "found"),
    returned("sum", "sum", "calculator", "error: no such\nnumber", error="ToolFailed"),
    ended(Failed(step="sum", error="ToolFailed", message="error: no such\nnumber", seconds=0.5)),
    ended(Skipped(step="merge", because_of="sum", reason="sum failed")),
    returned("look", "c2", "read", "read"),
    Concluding(step="look", iteration=2),
    ended(Succeeded(step="look", output="seen", model="small", usage=USAGE, seconds=2.5)),
)
REVISED: tuple[Event, ...] = (
    InterruptReceived(text="Be\x07 quick"),
    PhaseBegan(phase="replanning"),
    PlanReady(plan=SECOND, round=2, diff={"added": ("guess",), "removed": ("sum", "merge"), "changed": (), "kept": ("look",)}),
    PhaseBegan(phase="executing"),
    started("guess", model="large", task="Guess it", attempt=2),
    replied("guess", USAGE + UNMETERED),
)
GUESSED: tuple[Event, ...] = (
    ended(Succeeded(step="guess", output="42", model="large", usage=USAGE + UNMETERED, seconds=75.0)),
    PhaseBegan(phase="synthesis"),
    AnswerBegan(),
)
ANSWER: tuple[Event, ...] = (
    AnswerPiece(text="The ans", part=0, offset=0),
    AnswerReset(why="it broke off", part=1),
    AnswerPiece(text="It is\n\x1b[1m", part=1, offset=0),
    AnswerPiece(text="42.", part=1, offset=10),
    AnswerWritten(text="It is\n\x1b[1m42.", by="large", usage=USAGE),
    RunEnded(outcome="achieved", summary=SUMMARY, answer="It is\n\x1b[1m42."),
)
SCRIPT = (*PLANNING, *SIDE_BY_SIDE, *ENDS, *REVISED, *GUESSED, *ANSWER)

GLIMPSES = ("thinking_began", "concluding", "answer_began", "answer_piece", "answer_reset")


def recorded(events: Iterable[Event]) -> list[Recorded]:
    """The events in their envelopes, Facts numbered."""
    told, seq = [], 0
    for event in events:
        fact = event.kind not in GLIMPSES
        seq += fact
        told.append(Recorded(seq=seq if fact else None, time=0.0, run="r1", event=event))
    return told


async def stream(*parts: Iterable[Event], pause: float = 0.0) -> AsyncIterator[Recorded]:
    """The events of a run, `pause` seconds after each part of it."""
    for part in parts:
        for envelope in recorded(part):
            yield envelope
        await anyio.sleep(pause)
