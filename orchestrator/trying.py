"""The tries at one step: on which model each is made, what it is told of the ones before, and whether another follows."""

from msgspec import Struct
from msgspec.structs import replace

from orchestrator.state import RunState
from planner import ApprovalStep, Step, ToolStep
from planner.results import Failed, Skipped, StepResult
from registry.context import cut
from registry.origins import TRUSTED, Origins

FOR_GOOD = frozenset(
    {
        "BrokenReference",
        "BudgetExhausted",
        "DeniedByHook",
        "OutcomeUnknown",
        "Rejected",
        "StepTimedOut",
        "ToolDenied",
        "Undecided",
    }
)
"""Errors that another try would not change: a word that was given, or time and money that are gone."""

TELLING = frozenset({"NotVerified", "OutputUnfit"})
"""Errors that the next try is told of, since it can do better."""

QUOTED = 4_000
"""Characters of a result that was not good enough, as the next try reads them."""


def scope_of(digest: str) -> str:
    """What the calls of a step with this content belong to."""
    return f"step/{digest}"


class Try(Struct, frozen=True, gc=False):
    """A step's content, and which attempt at it this is. The `scope` is what its calls belong to, whatever it is named."""

    digest: str
    attempt: int
    scope: str

    @classmethod
    def of(cls, digest: str, attempt: int) -> "Try":
        return cls(digest, attempt, scope_of(digest))


class Tries(Struct, frozen=True, kw_only=True):
    """`before` are the tries of this attempt at the step that are over, and `first` is what the calls of its first one are
    numbered by."""

    step: Step | ToolStep | ApprovalStep
    before: tuple[Failed, ...]
    first: int

    @classmethod
    def of(cls, step: Step | ToolStep | ApprovalStep, state: RunState, scope: str, attempt: int) -> "Tries":
        """Where the step stands in this attempt. No two tries at it share a number, of whatever attempts they are."""
        if not state.retried:
            return cls(step=step, before=(), first=attempt)
        earlier = sum(len(state.retried.get((scope, each), ())) for each in range(1, attempt))
        return cls(step=step, before=tuple(state.retried.get((scope, attempt), ())), first=attempt + earlier)

    @property
    def number(self) -> int:
        """What the calls of this try are numbered by."""
        return self.first + len(self.before)

    @property
    def hint(self) -> str | None:
        """The model of this try."""
        turn = 0 if self.step.kind == "approval" else len(self.before) // (1 + self.step.retries)
        return self._hints[min(turn, len(self._hints) - 1)]

    @property
    def told(self) -> str:
        """What this try is told of the one before; nothing where there is nothing to learn from it."""
        if not self.before or self.before[-1].error not in TELLING:
            return ""
        last = self.before[-1]
        return f"An earlier try was not good enough: {last.message}\nIts result was:\n{cut(last.output, QUOTED)}"

    @property
    def origins(self) -> Origins:
        """Where what this try is told has its words from."""
        return self.before[-1].origins if self.told else TRUSTED

    def another_after(self, result: StepResult) -> bool:
        """Whether one more try follows this end."""
        if self.step.kind == "approval" or not isinstance(result, Failed) or result.error in FOR_GOOD:
            return False
        return len(self.before) + 1 < len(self._hints) * (1 + self.step.retries)

    def after(self, failed: Failed) -> "Tries":
        """The next try, after this one has ended so."""
        return replace(self, before=(*self.before, failed))

    def whole(self, result: StepResult) -> StepResult:
        """The end of the last try as the step's: with what all of them took."""
        if isinstance(result, Skipped) or not self.before:
            return result
        return replace(
            result,
            usage=sum((each.usage for each in self.before), result.usage),
            seconds=sum((each.seconds for each in self.before), result.seconds),
            iterations=sum((each.iterations for each in self.before), result.iterations),
        )

    @property
    def _hints(self) -> tuple[str | None, ...]:
        return self.step.hints if self.step.kind == "agent" else (None,)
