"""What a plan says about its steps beside their work: what a failure does, when a result is good, what it may take."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from planner.plan.fields import Args, Frozen, OutputSchema
from registry.messages import Json

OnFailure = Literal["skip_dependents", "continue", "stop", "replan"]
OnItemFailure = Literal["fail", "skip", "collect"]
Accept = Literal["exhausted", "truncated", "refused", "empty"]


class SchemaCheck(Frozen):
    """The output must fit a JSON Schema."""

    fits: OutputSchema


class ExpressionCheck(Frozen):
    """A condition must hold. In it `${output}` and `${data.KEY}` are the step's own."""

    holds: str


class ToolCheck(Frozen):
    """A tool must say true, or an object in which `passed` is true. `args` may refer to `${output}` and `${data.KEY}`."""

    tool: str
    args: Args = Field(default_factory=dict)


class JudgeCheck(Frozen):
    """A model must find that the output does what `judge` asks for. `model` is a role or a name, None for the role `planning`."""

    judge: str = Field(pattern=r"\S")
    model: str | None = None


def _check(value: object) -> str | None:
    """Which check it is: each has one field that the others don't have."""
    has = value.__contains__ if isinstance(value, Mapping) else lambda name: hasattr(value, name)
    return next((name for name in ("fits", "holds", "tool", "judge") if has(name)), None)


Check = Annotated[
    Annotated[SchemaCheck, Tag("fits")]
    | Annotated[ExpressionCheck, Tag("holds")]
    | Annotated[ToolCheck, Tag("tool")]
    | Annotated[JudgeCheck, Tag("judge")],
    Discriminator(_check),
]


def check_texts(check: Check) -> Iterator[tuple[str, Json]]:
    """What in the check may hold references, with its place relative to the check."""
    match check:
        case ExpressionCheck():
            yield "/holds", check.holds
        case ToolCheck():
            yield "/args", check.args
        case SchemaCheck() | JudgeCheck():
            return


class Spread(Frozen):
    """A number that is not known exactly."""

    low: float = Field(ge=0)
    likely: float
    high: float

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low <= self.likely <= self.high:
            raise ValueError("low, likely and high must be in this order")
        return self


def _as_spread(value: object) -> object:
    """A single number is low, likely and high in one."""
    alone = isinstance(value, int | float) and not isinstance(value, bool)
    return {"low": value, "likely": value, "high": value} if alone else value


Figure = Annotated[Spread, BeforeValidator(_as_spread)]


class Estimate(Frozen):
    """What the author thinks that a step takes: model calls, tokens, seconds. None where they don't say."""

    calls: Figure | None = None
    tokens: Figure | None = None
    seconds: Figure | None = None
