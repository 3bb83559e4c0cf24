"""Facts of runs that never were, with the moments at which they became true."""

from collections.abc import Sequence

from orchestrator.events.facts import (
    Fact,
    ModelReplied,
    PlanReady,
    RunEnded,
    RunInterrupted,
    RunStarted,
    RunSuspended,
    StepEnded,
    StepPaused,
    StepStarted,
    Summary,
)
from orchestrator.events.recorded import Recorded
from orchestrator.waiting import Waiting
from planner import Plan, Step
from planner.results import Failed, Skipped, StepResult, Succeeded
from registry.messages import Reply
from registry.usage import Usage

SUMMARY = Summary(
    wall_seconds=0.0,
    step_seconds=0.0,
    usage=Usage(),
    tool_calls=0,
    steps=0,
    succeeded=0,
    failed=0,
    skipped=0,
    reused=0,
    overlapped=(),
)

INTERRUPTED = RunInterrupted(why="w")
OVER = RunEnded(outcome="achieved", summary=SUMMARY)


def plan(**needs: str) -> Plan:
    """Steps, and the letters of those that each waits for."""
    return Plan(goal="g", steps=[Step(id=name, task=f"do {name}", depends_on=tuple(before)) for name, before in needs.items()])


def told(*facts: tuple[float, Fact], since: float = 1_000.0) -> Sequence[Recorded]:
    """A run that began at the moment `since` with a goal; each Fact comes so many seconds later."""
    begun = (0.0, RunStarted(goal="g", plan=None, inputs={}, today="2026-12-01"))
    return [Recorded(seq=n, time=since + time, run="r", event=fact) for n, (time, fact) in enumerate((begun, *facts), 1)]


def ready(made: Plan) -> PlanReady:
    return PlanReady(plan=made)


def starts(step: str, *, kind: str = "agent", task: str = "") -> StepStarted:
    return StepStarted(step=step, step_kind=kind, scope=f"step/{step}", task=task)


def ends(step: str, seconds: float = 0.0) -> StepEnded:
    return _ended(Succeeded(step=step, output="", seconds=seconds))


def fails(step: str) -> StepEnded:
    return _ended(Failed(step=step, error="E", message="m"))


def skips(step: str) -> StepEnded:
    return _ended(Skipped(step=step, because_of="a", reason="r"))


def pauses(step: str) -> StepPaused:
    return StepPaused(waiting=waits(step))


def waits(step: str) -> Waiting:
    return Waiting(step=step, key=f"step/{step}", what="?", kind="approval")


def suspended(*steps: str) -> RunSuspended:
    return RunSuspended(waiting=tuple(waits(step) for step in steps), summary=SUMMARY)


def replies(step: str, *, seconds: float, waited: float = 0.0, scope: str = "step/x") -> ModelReplied:
    reply = Reply(text="", waited=waited)
    return ModelReplied(
        key=f"{step}/{seconds}", scope=scope, purpose="step", step=step, iteration=1, reply=reply, seconds=seconds
    )


def _ended(result: StepResult) -> StepEnded:
    return StepEnded(scope=f"step/{result.step}", result=result)
