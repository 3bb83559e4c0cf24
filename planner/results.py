"""How steps end, and whether the goal is met. Stated in terms of a plan, so that the planner can revise from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeGuard

from registry.messages import Json
from registry.origins import TRUSTED, Origins
from registry.usage import Usage

Outcome = Literal["completed", "exhausted", "truncated", "refused", "empty", "cancelled", "failed"]
"""How an agent's loop ended. Only `completed` is a success, unless a step accepts more."""

NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """`output` is the text others read; `data` the JSON value of a structured result, None for plain text.

    `seconds` does not include queueing. `model` is who did it, empty for a tool step.
    """

    step: str
    output: str
    data: Json = None
    outcome: Outcome = "completed"
    model: str = ""
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    iterations: int = 0
    origins: Origins = TRUSTED
    kind: Literal["succeeded"] = "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """`error` is the kind (`ToolFailed`, `Unreachable`, ...), `message` the sentence. `output` is what there was by then."""

    step: str
    error: str
    message: str
    outcome: Outcome = "failed"
    output: str = ""
    model: str = ""
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    iterations: int = 0
    origins: Origins = TRUSTED
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """The step never ran: `because_of` is the step whose end it could not do without.

    An `untaken` one is on a branch that a condition closed: nothing has gone wrong.
    """

    step: str
    because_of: str
    reason: str
    untaken: bool = False
    kind: Literal["skipped"] = "skipped"


StepResult = Succeeded | Failed | Skipped


def is_untaken(end: StepResult | None) -> TypeGuard[Skipped]:
    """Whether the step is on a branch that a condition closed."""
    return isinstance(end, Skipped) and end.untaken


Results = Mapping[str, StepResult]
"""By step id, in plan order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Achieved:
    """The goal is met. `final_answer` is the judge's own short answer, empty when it gave none."""

    reasoning: str
    confidence: float = 1.0
    final_answer: str = ""
    kind: Literal["achieved"] = "achieved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """The goal is not met; `missing` says what lacks."""

    reasoning: str
    missing: tuple[str, ...]
    confidence: float = 1.0
    final_answer: str = ""
    kind: Literal["missing"] = "missing"


Verdict = Achieved | Missing
