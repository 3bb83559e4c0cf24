"""How long steps took before, and what that says of those to come."""

import math
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from planner.plan import AnyStep, Step, ToolStep


class Took(Struct, frozen=True, kw_only=True):
    """How many seconds steps took that are the same, or much the same: one in ten less than `low`, half of them less than
    `likely`, one in ten more than `high`. `times` is of how many that is known."""

    low: float
    likely: float
    high: float
    times: int


Past = Mapping[str, Took]
"""What is known, by the scope of a step, which is its content, and by its likeness."""


def likeness(step: AnyStep, model: str) -> str:
    """What steps share that take about as long: a tool, or the `model` of their agents. Empty for those that only wait."""
    match step:
        case ToolStep(tool=tool):
            return f"tool/{tool}"
        case Step():
            return f"agent/{model}"
        case _:
            return ""


def taken(seconds: Sequence[float]) -> Took:
    """What is to be expected after steps that took so long. Expects at least one."""
    ordered = sorted(seconds)
    return Took(low=_at(ordered, 0.1), likely=_at(ordered, 0.5), high=_at(ordered, 0.9), times=len(ordered))


def _at(ordered: Sequence[float], part: float) -> float:
    """What so great a part of them do not exceed, between two of them in proportion."""
    before, beyond = divmod(part * (len(ordered) - 1), 1)
    return ordered[int(before)] + beyond * (ordered[math.ceil(before + beyond)] - ordered[int(before)])


Named = Callable[[AnyStep], str]
"""The name of the model that is to do a step, empty where none is."""


def _nameless(_: AnyStep) -> str:
    return ""


class Experience(Struct, frozen=True, kw_only=True):
    """What earlier runs say of the steps of a plan. `scopes` are those of its steps, by id."""

    past: Past = field(default_factory=dict)
    scopes: Mapping[str, str] = field(default_factory=dict)
    named: Named = _nameless

    def of(self, step: AnyStep) -> Took | None:
        """How long the same step took, or else steps that are much like it."""
        if not self.past:
            return None
        return self.past.get(self.scopes.get(step.id, "")) or self.past.get(likeness(step, self.named(step)))
