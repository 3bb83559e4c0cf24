"""What a run came to, worked out from its Facts alone."""

from collections.abc import Iterable

from orchestrator.events.facts import RunInterrupted, RunSuspended, StepEnded, StepStarted, ToolEnded
from orchestrator.events.figures import Summary
from orchestrator.events.recorded import Recorded
from orchestrator.spending.accounts import account
from orchestrator.state import folded
from planner.results import Failed, Skipped, StepResult, Succeeded


def summarised(facts: Iterable[Recorded], *, wall_seconds: float, reused: int) -> Summary:
    """The summary of a run whose Facts these are."""
    facts = tuple(facts)
    events, spent = [recorded.event for recorded in facts], account(facts)
    state = folded(events)
    results = list(state.steps.values())
    return Summary(
        wall_seconds=wall_seconds,
        step_seconds=sum(_seconds(result) for result in results),
        usage=state.usage,
        tool_calls=sum(isinstance(event, ToolEnded) for event in events),
        steps=len(results),
        succeeded=sum(isinstance(result, Succeeded) for result in results),
        failed=sum(isinstance(result, Failed) for result in results),
        skipped=sum(isinstance(result, Skipped) for result in results),
        reused=reused,
        overlapped=_overlapped(events),
        iterations=sum(0 if isinstance(result, Skipped) else result.iterations for result in results),
        budget=None if spent is None else spent.report,
    )


def _seconds(result: StepResult) -> float:
    return 0.0 if isinstance(result, Skipped) else result.seconds


def _overlapped(events: Iterable[object]) -> tuple[str, ...]:
    """The steps that ran while another step did, in the order they began."""
    running: dict[str, None] = {}
    met: dict[str, None] = {}
    for event in events:
        match event:
            case StepStarted(step=step, step_kind=kind) if kind not in ("map", "plan"):  # which run only in their parts
                if running:
                    met.update(running)
                    met[step] = None
                running[step] = None
            case StepEnded(result=result):
                running.pop(result.step, None)
            case RunInterrupted() | RunSuspended():
                running.clear()
            case _:
                pass
    return tuple(met)
