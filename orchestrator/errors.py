"""The errors of a run. A `StepError` becomes a Failed step; every other one ends the run.

Waiting for a person is not among them: a walk then returns Suspended.
"""

from registry.errors import ConfigurationError, DagwrightError


class RunError(DagwrightError):
    """A step or a run could not go on."""


class StepError(RunError):
    """What ends one step and not the run."""


class IterationsExhausted(StepError):
    """An agent used up its iterations without concluding."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"no conclusion after {limit} iterations")
        self.limit = limit


class AgentStopped(StepError):
    """An agent's loop ended in a way that is not a success: truncated, refused or empty. `why` may be unknown."""

    def __init__(self, outcome: str, why: str = "") -> None:
        super().__init__(f"the agent's last reply was {outcome}{why and f': {why}'}")
        self.outcome, self.why = outcome, why


class StepTimedOut(StepError):
    """A step did not end in its time. `seconds` is what it was given."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not done within {seconds:g} s")
        self.seconds = seconds


class DeniedByHook(StepError):
    """A policy refused a plan or a step, or failed while it was asked, which is the same."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"a hook refused {what}: {why}")
        self.what, self.why = what, why


class LeaseLost(RunError):
    """Somebody else has claimed what we were writing."""

    def __init__(self, run: str, epoch: int, current: int) -> None:
        super().__init__(f"run {run!r} was claimed by another: our epoch is {epoch}, the current one {current}")
        self.run, self.epoch, self.current = run, epoch, current


class UnknownRun(RunError):
    """The journal has no run of this id."""

    def __init__(self, run: str) -> None:
        super().__init__(f"no run {run!r} in the journal")
        self.run = run


class LoopRunning(ConfigurationError):
    """`run_sync` was called where an event loop already runs."""

    def __init__(self) -> None:
        super().__init__("run_sync can't be used inside a running event loop; use `await orchestrator.run(...)` there")
