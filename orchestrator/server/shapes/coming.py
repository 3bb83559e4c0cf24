"""The bodies of requests."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model, model_validator

from orchestrator.server.asking import NARROWED
from orchestrator.server.shapes.examples import PLAN, WAITING, example
from registry.storable import unstorable


class Body(BaseModel):
    """Of a request. What could not be written down is refused where it comes in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        found = unstorable(value, "the body") if isinstance(value, Mapping) else None
        if found is not None:
            raise ValueError(found)
        return value


_LIMITS: dict[str, Any] = {name: (Annotated[kind, Field(gt=0, le=10**9)] | None, None) for name, kind in NARROWED.items()}
WantedLimits: Any = create_model("WantedLimits", __base__=Body, __doc__="Each at most the server's own.", **_LIMITS)

PlanIn = Annotated[
    dict[str, JsonValue] | Annotated[str, Field(max_length=1_000_000)],
    Field(description="A plan as an object (see the schema `Plan`), or as text in JSON or YAML."),
]
Inputs = Annotated[dict[str, JsonValue], Field(description="Values for the inputs that the plan declares.")]
Said = Annotated[str, Field(max_length=10_000)]


class NewRun(Body):
    """A goal in words, or a plan with the values of its inputs."""

    model_config = example(goal="Compare the harbours of Narvik and Genoa in five sentences", limits={"rounds": 1})

    goal: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None
    plan: PlanIn | None = None
    inputs: Inputs = {}
    limits: WantedLimits = WantedLimits()
    attached: Annotated[bool, Field(description="The answer is the event stream; who leaves it cancels the run.")] = False

    @model_validator(mode="after")
    def _one_wish(self) -> Self:
        if (self.goal is None) == (self.plan is None):
            raise ValueError("give either a goal or a plan")
        if self.goal is not None and not self.goal.strip():
            raise ValueError("the goal is empty; say what you want")
        return self

    @property
    def wanted_limits(self) -> dict[str, Any]:
        """Those that were given."""
        given: dict[str, Any] = self.limits.model_dump(exclude_none=True)
        return given


class Why(Body):
    model_config = example(why="it costs too much")

    why: Said = ""


class Message(Body):
    """For every agent at work, and those that begin later."""

    model_config = example(text="Leave Genoa out")

    text: Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"\S")]


class Approval(Body):
    """`waiting` is the id of exactly what was shown. `by` says who decides, for the record."""

    model_config = example(waiting=WAITING, by="Ada")

    waiting: Annotated[str, Field(min_length=1, max_length=100)]
    text: Said = ""
    by: Annotated[str, Field(max_length=200)] = ""


class AnswerIn(Approval):
    """To a question, or of what became of a call in doubt: it happened (`text` is its result), do it again, go on without it, or
    let it count as failed."""

    model_config = example(waiting=WAITING, text="the one in Liguria", by="Ada")

    decision: Literal["answer", "happened", "retry", "skip", "fail"] = "answer"


class PlanToCheck(Body):
    """Without `inputs` the plan alone is checked, and not a run of it."""

    model_config = example(plan=PLAN)

    plan: PlanIn
    inputs: dict[str, JsonValue] | None = None


class GoalToPlan(Body):
    model_config = example(goal="Compare the harbours of Narvik and Genoa")

    goal: Annotated[str, Field(min_length=1, max_length=100_000, pattern=r"\S")]
