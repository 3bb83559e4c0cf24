"""How a step ends: what its work came to, as the result that others read."""

from msgspec.structs import replace

from orchestrator.agent import AgentResult
from orchestrator.errors import (
    AgentStopped,
    BudgetExhausted,
    IterationsExhausted,
    NothingToMap,
    NotVerified,
    OutputUnfit,
    StepError,
)
from orchestrator.events.facts import StopRequested
from planner import AnyStep, BrokenReference, Step
from planner.errors import Undecided
from planner.results import Failed, Skipped, StepResult, Succeeded
from registry.errors import DagwrightError, ModelError, OverBudget
from registry.origins import TRUSTED, Origins, joined
from registry.usage import Usage


def failed(step: AnyStep, error: DagwrightError) -> Failed:
    """The step's end by an error."""
    return Failed(step=step.id, error=_kind(error), message=_said(error), usage=_cost(error), origins=_origins(error))


def left_out(step: AnyStep, stopped: StopRequested) -> Skipped:
    """The end of a step that did not begin, or waited for somebody, in a run that was stopped."""
    return Skipped(step=step.id, because_of=step.id, reason=f"the run was stopped{stopped.why and f': {stopped.why}'}")


def spoilt(result: Succeeded, error: DagwrightError) -> Failed:
    """A result that turned out not to be good: what it says stays to be read."""
    return replace(_instead_of(result, error), output=result.output)


def refused(result: StepResult, denial: DagwrightError) -> StepResult:
    """A result that a hook does not let through, and so nothing of what it says."""
    return result if isinstance(result, Skipped) else _instead_of(result, denial)


def _instead_of(result: Succeeded | Failed, error: DagwrightError) -> Failed:
    """The error as the step's end. What the result cost was paid all the same."""
    return Failed(
        step=result.step,
        error=_kind(error),
        message=_said(error),
        model=result.model,
        usage=result.usage + _cost(error),
        seconds=result.seconds,
        iterations=result.iterations,
        origins=joined(result.origins, _origins(error)),
    )


def ended(step: Step, result: AgentResult, *, seconds: float, late: StepError | None, limit: int) -> StepResult:
    """The loop's outcome as the step's end: a success only when it is "completed", or what the step accepts besides."""
    assert result.outcome != "suspended"
    if result.outcome == "completed" or result.outcome in step.accept:
        return Succeeded(
            step=step.id,
            output=result.answer,
            outcome=result.outcome,
            model=result.model,
            usage=result.usage,
            seconds=seconds,
            iterations=result.iterations,
            origins=result.origins,
        )
    stopped = IterationsExhausted(limit) if result.outcome == "exhausted" else AgentStopped(result.outcome)
    error = late or result.error or stopped
    return Failed(
        step=step.id,
        error=_kind(error),
        message=_said(error),
        outcome=result.outcome,
        output=result.answer,
        model=result.model,
        usage=result.usage,
        seconds=seconds,
        iterations=result.iterations,
        origins=result.origins,
    )


def _meant(error: DagwrightError) -> DagwrightError:
    """A request that can't be paid is the end of what there was to spend."""
    return BudgetExhausted.by(error) if isinstance(error, OverBudget) else error


def _kind(error: DagwrightError) -> str:
    return type(_meant(error)).__name__


def _said(error: DagwrightError) -> str:
    return str(_meant(error))


def _origins(error: DagwrightError) -> Origins:
    return error.origins if isinstance(error, BrokenReference | Undecided | NothingToMap | NotVerified) else TRUSTED


def _cost(error: DagwrightError) -> Usage:
    return error.usage if isinstance(error, ModelError | OutputUnfit | NotVerified) else Usage()
