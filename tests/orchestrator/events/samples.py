"""One event of every type, or several where a type has several shapes, for the tests of everything that reads events."""

from decimal import Decimal

from msgspec.structs import replace

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
from orchestrator.events.figures import BudgetReport, Summary
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
from orchestrator.events.recorded import Event
from orchestrator.events.spending import BudgetDrawn, LandingBegan, ModelChosen
from orchestrator.waiting import Waiting
from planner import Diagnostic, Input, Plan, Step, ToolStep
from planner.results import Achieved, Failed, Missing, Skipped, Succeeded
from registry.budget import Amounts, Spending
from registry.messages import Reply, ToolCall
from registry.tools.artifacts import Artifact
from registry.tools.tool import Observation
from registry.usage import UNMETERED, Usage

USAGE = Usage(
    requests=2,
    input_tokens=90,
    output_tokens=10,
    cache_read_tokens=5,
    reasoning_tokens=4,
    cost=Decimal("0.00000012345678901"),
    priced=1,
)

PLAN = Plan(
    goal="Compare the two",
    inputs={"city": Input(default="Zürich")},
    steps=(
        Step(id="look", task="Look at ${inputs.city}", model_hint="fast", tools=("search",), accept=("exhausted",)),
        ToolStep(id="count", tool="calculator", args={"expression": "1 + ${steps.look.data.n}", "deep": [{"x": None}]}),
    ),
    output="${steps.count.output}",
)

REPAIR = Diagnostic(code="P005", severity="repair", place="/steps/1/depends_on/0", message="'luk' named no step", fix="removed")

SUMMARY = Summary(
    wall_seconds=4.5,
    step_seconds=7.25,
    usage=USAGE,
    tool_calls=3,
    steps=2,
    succeeded=1,
    failed=1,
    skipped=0,
    reused=1,
    overlapped=("look", "count"),
    iterations=5,
)

REPORT = BudgetReport(
    limits=Amounts(requests=10, cost=Decimal("0.5")),
    spent=Amounts(tokens=900, requests=9, cost=Decimal("0.41"), seconds=4.5),
    estimated=1,
    near="cost",
)

LOOKED = Succeeded(
    step="look",
    output="seen\n" * 50,
    data={"n": 2},
    model="small",
    usage=USAGE,
    seconds=1.5,
    iterations=2,
    origins=("tool:search",),
)

WAITING = Waiting(step="count", key="step/d/tool/e/1", what="send this?", kind="approval")

CALL = ToolCall(id="c1", name="search", arguments='{"q": "x"}')

REPLY = Reply(text="Let me look.", calls=(CALL,), finish="tool_calls", usage=USAGE, model="small-2", waited=0.5)

OBSERVATION = Observation(
    call_id="c1", name="search", text="found", data=[1, "two", None], origins=("tool:search",), seconds=0.25
)

CHART = Artifact.of_bytes(b"\x89PNG", name="chart.png", media_type="image/png")

DRAWN = Observation(call_id="c2", name="draw", text=CHART.note, artifacts=(CHART,))

FAILED = Failed(step="count", error="ToolFailed", message="no", outcome="failed", output="so far", usage=UNMETERED, seconds=2.0)

SAMPLES: tuple[Event, ...] = (
    RunStarted(goal="Compare the two", plan=PLAN, inputs={"city": "Bern"}, today="2026-12-01"),
    RunStarted(goal="Compare \u2028 \U0001f600 the two", plan=None, inputs={}, today="2026-12-01"),
    PhaseBegan(phase="planning"),
    PhaseBegan(phase="selecting_tools", total_tools=40),
    PlanReady(plan=PLAN, round=2, diagnostics=(REPAIR,), diff={"added": ("count",), "kept": ("look",)}, usage=USAGE),
    StepStarted(step="look", step_kind="agent", scope="step/1", attempt=2, task="Look", model="small"),
    ModelReplied(key="k", scope="step/1", purpose="step", step="look", iteration=1, reply=REPLY, seconds=0.75),
    ModelFailed(
        key="k", scope="step/1", purpose="step", step="look", iteration=1, error="Unreachable", message="gone", usage=UNMETERED
    ),
    ToolStarted(
        key="k",
        scope="step/1",
        step="look",
        iteration=1,
        call_id="c1",
        tool="search",
        arguments='{"q": "x", "n": 123456789012345678901}',
        effect="pure",
    ),
    ToolEnded(key="k", scope="step/1", step="look", iteration=1, observation=OBSERVATION),
    ToolEnded(key="k", scope="step/1", step="look", iteration=1, observation=DRAWN),
    StepRetried(scope="step/1", result=FAILED, attempt=2),
    StepEnded(scope="step/1", result=LOOKED),
    StepEnded(scope="step/1", result=FAILED, attempt=2),
    StepEnded(scope="step/1", result=Skipped(step="count", because_of="look", reason="look failed")),
    InterruptReceived(text="Also the third"),
    InterruptHeard(scope="step/0a1b", attempt=1, step="look", place=2, texts=("Also the third",)),
    VerdictReached(verdict=Achieved(reasoning="yes", confidence=0.9, final_answer="42"), round=1, usage=USAGE),
    VerdictReached(verdict=Missing(reasoning="no", missing=("a", "b")), round=2),
    AnswerWritten(text="The answer", by="large", usage=USAGE),
    RunEnded(outcome="achieved", summary=SUMMARY, answer="The answer"),
    RunEnded(outcome="failed", summary=SUMMARY, error="no model"),
    RunInterrupted(why="the process ended"),
    PlanRejected(round=1, diagnostics=(REPAIR,), usage=USAGE),
    StepPaused(waiting=WAITING),
    Answered(waiting=WAITING.id, key=WAITING.key, decision="approve", text="go on", by="Ada"),
    RunSuspended(waiting=(WAITING,), summary=SUMMARY),
    CancelRequested(why="enough"),
    StopRequested(why="late"),
    TailCut(records=2),
    BudgetDrawn(
        step="look",
        spent=Spending(tokens=900, cost=Decimal("0.1"), requests=3),
        held=Spending(requests=1),
        seconds=2.5,
        estimated=1,
    ),
    LandingBegan(limit="cost", used=0.81),
    ModelChosen(scope="step/1", attempt=2, step="look", model="small"),
    RunEnded(outcome="missing", summary=replace(SUMMARY, budget=REPORT), answer="Half of it"),
    ThinkingBegan(step="look", iteration=1),
    StepQueued(step="look"),
    StepAdmitted(step="look", waited=1.5),
    Compacted(step="look", iteration=2, original_messages=40, kept_messages=12),
    Concluding(step="look", iteration=2),
    AnswerBegan(),
    AnswerPiece(text="The ", part=1, offset=12),
    AnswerReset(why="it broke off", part=1),
)
