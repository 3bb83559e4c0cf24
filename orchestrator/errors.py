"""The errors of a run. A `StepError` becomes a Failed step; every other one ends the run.

Waiting for a person is not among them: a walk then returns Suspended.
"""

from collections.abc import Iterable
from typing import Self

from registry.errors import ConfigurationError, DagwrightError, OverBudget, there_are, unit_of
from registry.origins import TRUSTED, Origins
from registry.usage import Usage


class RunError(DagwrightError):
    """A step or a run could not go on."""


class StepError(RunError):
    """What ends one step and not the run."""


class IterationsExhausted(StepError):
    """An agent used up its iterations without concluding."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"no conclusion after {limit} iterations")
        self.limit = limit


class BudgetExhausted(StepError):
    """There is too little left for what is to be done: of what `kind`, and in `whose` budget, the run's or a step's."""

    def __init__(self, kind: str, whose: str = "the run") -> None:
        super().__init__(f"{whose} has used up its {unit_of(kind)}")
        self.kind, self.whose = kind, whose

    @classmethod
    def by(cls, refusal: OverBudget) -> Self:
        """For a request that could not be paid."""
        return cls(refusal.kind, refusal.whose)


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


class Rejected(StepError):
    """A person was asked whether to go on, and said no. `text` is what they said besides, `by` who they are, if known."""

    def __init__(self, text: str = "", by: str = "") -> None:
        super().__init__(f"{by or 'the user'} said no{text and f': {text}'}")
        self.text, self.by = text, by


class OutcomeUnknown(StepError):
    """An effect was begun, nobody knows whether it happened, and it is neither to be repeated nor gone without."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"{tool!r} was begun, and nobody knows whether it happened")
        self.tool = tool


class DeniedByHook(StepError):
    """A policy refused a plan or a step, or failed while it was asked, which is the same."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"a hook refused {what}: {why}")
        self.what, self.why = what, why


class NothingToMap(StepError):
    """What a map is to go over is no list, or one that is too long. `origins` are those of what it is, for that is quoted."""

    def __init__(self, what: str, *, origins: Origins = TRUSTED) -> None:
        super().__init__(f"the map needs a list, and has {what}")
        self.what, self.origins = what, origins


class PartsFailed(StepError):
    """Steps that a step consists of did not do what it can't do without."""


class OutputUnfit(StepError):
    """A step's output is not the data that its `output_schema` asks for. `usage` is what it cost to ask for that."""

    def __init__(self, why: str, *, usage: Usage | None = None) -> None:
        super().__init__(f"the output does not fit the step's output_schema: {why}")
        self.why, self.usage = why, usage or Usage()


class NotVerified(StepError):
    """A step's output did not pass the step's check. `usage` is what the check cost, `origins` where its words come from besides
    the output itself."""

    def __init__(self, why: str, *, usage: Usage | None = None, origins: Origins = TRUSTED) -> None:
        super().__init__(f"the output did not pass the check: {why}")
        self.why, self.usage, self.origins = why, usage or Usage(), origins


class ToolsetFailed(RunError):
    """Tools that are opened for each run could not be opened, or what they need broke while the run went on."""

    def __init__(self, toolset: str, why: str) -> None:
        super().__init__(f"the tools of {toolset!r} can't be used: {why}")
        self.toolset, self.why = toolset, why


class LeaseLost(RunError):
    """Somebody else has claimed what we were writing."""

    def __init__(self, run: str, epoch: int, current: int) -> None:
        super().__init__(f"run {run!r} was claimed by another: our epoch is {epoch}, the current one {current}")
        self.run, self.epoch, self.current = run, epoch, current


class RunHeld(RunError):
    """Somebody works on the run right now. `seconds` is how long their claim holds if they do not renew it."""

    def __init__(self, run: str, holder: str, seconds: float) -> None:
        super().__init__(f"run {run!r} is already being worked on by {holder}; its claim holds for {seconds:.3g} s more")
        self.run, self.holder, self.seconds = run, holder, seconds


class UnknownRun(RunError):
    """The journal has no run of this id."""

    def __init__(self, run: str, known: Iterable[str] = ()) -> None:
        super().__init__(f"no run {run!r} in the journal; {there_are(run, known)}")
        self.run = run


class RunCancelled(RunError):
    """Somebody cancelled the run. What was finished stays finished; it can't be resumed."""

    def __init__(self, run: str) -> None:
        super().__init__(f"run {run!r} was cancelled")
        self.run = run


class JournalDamaged(RunError):
    """What is stored is not what was written. `place` is the file, or the run and the record in it."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(f"the journal is damaged: {place}: {why}; nothing of it was run")
        self.place, self.why = place, why


class JournalUnusable(RunError):
    """The journal can't be opened or written: no room, no right, or a newer version's."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(f"the journal {place} can't be used: {why}")
        self.place, self.why = place, why


class UnknownWaiting(RunError):
    """Nothing of this id waits for an answer in the run, or not for an answer of this kind."""

    def __init__(self, run: str, wanted: str, why: str) -> None:
        super().__init__(f"run {run!r} does not wait for {wanted!r}: {why}")
        self.run, self.wanted, self.why = run, wanted, why


class LoopRunning(ConfigurationError):
    """`run_sync` was called where an event loop already runs."""

    def __init__(self) -> None:
        super().__init__("run_sync can't be used inside a running event loop; use `await orchestrator.run(...)` there")
