"""How steps end, and whether the goal is met. Stated in terms of a plan, so that the planner can revise from them."""

from collections.abc import Mapping
from typing import Literal, TypeGuard

from registry.messages import Json
from registry.origins import TRUSTED, Origins
from registry.usage import Usage
from registry.values import Tagged

Outcome = Literal["completed", "exhausted", "truncated", "refused", "empty", "cancelled", "failed"]
"""How an agent's loop ended. Only `completed` is a success, unless a step accepts more."""

NO_USAGE = Usage()


class Succeeded(Tagged, frozen=True, kw_only=True):
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


class Failed(Tagged, frozen=True, kw_only=True):
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


class Skipped(Tagged, frozen=True, kw_only=True):
    """The step never ran: `because_of` is the step whose end it could not do without.

    An `untaken` one is on a branch that a condition closed: nothing has gone wrong.
    """

    step: str
    because_of: str
    reason: str
    untaken: bool = False


StepResult = Succeeded | Failed | Skipped


def is_untaken(end: StepResult | None) -> TypeGuard[Skipped]:
    """Whether the step is on a branch that a condition closed."""
    return isinstance(end, Skipped) and end.untaken


Results = Mapping[str, StepResult]
"""By step id, in plan order."""


class Achieved(Tagged, frozen=True, kw_only=True):
    """The goal is met. `final_answer` is the judge's own short answer, empty when it gave none."""

    reasoning: str
    confidence: float = 1.0
    final_answer: str = ""


class Missing(Tagged, frozen=True, kw_only=True):
    """The goal is not met; `missing` says what lacks."""

    reasoning: str
    missing: tuple[str, ...]
    confidence: float = 1.0
    final_answer: str = ""


Verdict = Achieved | Missing
