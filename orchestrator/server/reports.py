"""What is told of runs: values of the engine as those of the wire."""

from collections.abc import Iterable, Mapping
from typing import assert_never

from msgspec.structs import asdict

from orchestrator.events.facts import RunStarted, StepEnded, StepPaused, StepStarted
from orchestrator.events.figures import plain_usage
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import Outline
from orchestrator.server.service import setup_of
from orchestrator.server.shapes.going import DiagnosticOut, RunLine, RunOut, StepLine, UsageOut, WaitingOut
from orchestrator.server.tenancy import Recalled, State
from orchestrator.waiting import DECISIONS, Waiting
from planner import Diagnostic, Plan, plain_plan
from planner.results import Failed, Skipped, StepResult, Succeeded
from registry.usage import Usage


def line_of(outline: Outline, state: State) -> RunLine:
    """The run as lists show it."""
    started, setup = outline.first and outline.first.event, setup_of(outline)
    return RunLine(
        id=outline.run,
        state=state,
        goal=started.goal if isinstance(started, RunStarted) else "",
        began=outline.began,
        latest=outline.latest,
        attached=setup is not None and setup.attached,
        damage="its records can't be read" if outline.damage else "",
    )


def report_of(run: Recalled) -> RunOut:
    """All that there is to know of a run."""
    state, ended = run.folded, run.folded.ended
    last = state.rounds[-1] if state.rounds else None
    plan = last.plan if last else state.started.plan if state.started else None
    return RunOut(
        **line_of(run.outline, run.state).model_dump(),
        plan=None if plan is None else plain_plan(plan),
        round=last.round if last else 0,
        steps=list(steps_of(plan, run.facts).values()),
        answer=ended.answer if ended else state.answer.text if state.answer else "",
        error=ended.error if ended else "",
        usage=usage_of(state.usage),
        waiting=[waiting_of(run.outline.run, each) for each in run.pending],
        events=len(run.facts),
    )


def steps_of(plan: Plan | None, facts: Iterable[Recorded]) -> Mapping[str, StepLine]:
    """Where each step stands, by its id."""
    steps = {step.id: StepLine(id=step.id, state="waiting", kind=step.kind) for step in (plan.steps if plan else ())}
    for recorded in facts:
        match recorded.event:
            case StepStarted(step=step, step_kind=kind, model=model):
                steps[step] = StepLine(id=step, state="running", kind=kind, model=model)
            case StepPaused(waiting=waiting):
                steps[waiting.step] = steps[waiting.step].model_copy(update={"state": "paused"})
            case StepEnded(result=result):
                known = steps.get(result.step, StepLine(id=result.step, state="waiting"))
                steps[result.step] = known.model_copy(update=_end_of(result))
            case _:
                pass
    return steps


def usage_of(usage: Usage) -> UsageOut:
    return UsageOut(**plain_usage(usage))


def waiting_of(run: str, waiting: Waiting) -> WaitingOut:
    return WaitingOut(
        run=run,
        id=waiting.id,
        kind=waiting.kind,
        step_id=waiting.step,
        what=waiting.what,
        decisions=list(DECISIONS[waiting.kind]),
    )


def findings_of(found: Iterable[Diagnostic]) -> list[DiagnosticOut]:
    return [DiagnosticOut(**asdict(each)) for each in found]


def _end_of(result: StepResult) -> dict[str, object]:
    match result:
        case Succeeded():
            return {"state": "completed", "seconds": result.seconds, "output": result.output}
        case Failed():
            return {"state": "failed", "seconds": result.seconds, "output": result.output, "error": result.message}
        case Skipped():
            return {"state": "skipped", "error": result.reason}
        case _:
            assert_never(result)
