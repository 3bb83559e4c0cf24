"""The plan: a checked, frozen DAG of steps, some of which are maps and plans themselves.

A `Draft` has the right shape and nothing more is known about it. A `Plan` is a Draft that passed the structural checks: it
can't be built otherwise.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from msgspec.structs import replace
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    Tag,
    field_serializer,
    model_validator,
)

from planner.check.structure import structural_errors
from planner.diagnostics import Diagnostic, error, pointer
from planner.errors import PlanError
from planner.mentions import mentions
from planner.plan.base import BaseStep
from planner.plan.fields import Args, Frozen, Stored
from planner.plan.kinds import ApprovalStep, Step, ToolStep
from planner.plan.policies import OnItemFailure
from planner.references import only
from registry.budget import Amounts
from registry.errors import there_are
from registry.messages import Json

ITEM = "item"
"""The id of a map's step where it has none of its own: nobody refers to it."""


def _with_id(value: object) -> object:
    return {"id": ITEM, **value} if isinstance(value, Mapping) else value


class MapStep(BaseStep):
    """A step for every item of a list, side by side: its data is the list of what they gave, in the order of the items.

    `over` is the list, or a reference to one. In `step` `${item}` is the item, `${item.KEY}` a part of it, and `${index}` its
    place, from 0. Items whose condition does not hold are left out. `width` is how many items may be under way at once, None for
    no limit of its own. `on_item_failure` says what a failed item does: "fail" fails the map when all have ended, "skip" leaves
    it out, "collect" puts an object with `error` and `message` in its place. Where every item failed, "skip" fails the map too.
    """

    kind: Literal["map"] = "map"
    over: Stored
    step: Annotated["AnyStep", BeforeValidator(_with_id)]
    width: int | None = Field(default=None, gt=0)
    on_item_failure: OnItemFailure = "fail"

    def texts(self) -> Iterator[tuple[str, Json]]:
        yield from super().texts()
        yield "/over", self.over
        yield from (("/step" + place, value) for place, value in self.step.texts())

    def tool_names(self) -> Iterator[tuple[str, str]]:
        yield from (("/step" + place, name) for place, name in self.step.tool_names())

    def model_names(self) -> Iterator[tuple[str, str]]:
        yield from (("/step" + place, name) for place, name in self.step.model_names())

    def faults(self) -> Iterator[Diagnostic]:
        yield from super().faults()
        if not (isinstance(self.over, list | tuple) or (isinstance(self.over, str) and only(self.over))):
            message = f"step {self.id!r} has no list to go over"
            yield error("P027", "/over", message, fix="write a list, or a reference to one such as ${steps.ID.data}")
        if self.step.depends_on:
            yield error("P005", "/step/depends_on", "inside a map there are no other steps", fix="let the map depend on it")
        yield from (replace(fault, place="/step" + fault.place) for fault in self.step.faults())

    @field_serializer("step", mode="wrap")
    def _short(self, step: "AnyStep", whole: SerializerFunctionWrapHandler, asked: SerializationInfo) -> Json:
        return plain_step(step) if asked.exclude_defaults else whole(step)


class PlanStep(BaseStep):
    """A plan inside a plan, with inputs of its own: `args` are their values. It sees nothing else of the plan around it.

    The step gives what the `output` of its plan refers to, or else what those of its steps gave that no other one uses. It
    succeeds when every step did that the plan can't do without.
    """

    kind: Literal["plan"] = "plan"
    plan: "Draft"
    args: Args = Field(default_factory=dict)

    @property
    def about(self) -> str:
        return self.task or self.plan.goal

    def texts(self) -> Iterator[tuple[str, Json]]:
        yield from super().texts()
        yield "/args", self.args

    def tool_names(self) -> Iterator[tuple[str, str]]:
        for number, step in enumerate(self.plan.steps):
            yield from ((pointer("plan", "steps", number) + place, name) for place, name in step.tool_names())

    def model_names(self) -> Iterator[tuple[str, str]]:
        for number, step in enumerate(self.plan.steps):
            yield from ((pointer("plan", "steps", number) + place, name) for place, name in step.model_names())

    def faults(self) -> Iterator[Diagnostic]:
        yield from super().faults()
        asked = self.plan.inputs
        for name in self.args:
            if name not in asked:
                yield error("P015", pointer("args", name), f"its plan has no input named {name!r}; {there_are(name, asked)}")
        for name, wanted in asked.items():
            if wanted.required and name not in self.args:
                yield error("P011", "/args", f"its plan asks for the input {name!r}", fix="give it, or a default")
        yield from (replace(fault, place="/plan" + fault.place) for fault in structural_errors(self.plan))

    @field_serializer("plan", mode="wrap")
    def _short(self, plan: "Draft", whole: SerializerFunctionWrapHandler, asked: SerializationInfo) -> Json:
        return plain_draft(plan) if asked.exclude_defaults else whole(plan)


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return str(value.get("kind", "agent"))
    return str(getattr(value, "kind", "agent"))


AnyStep = Annotated[
    Annotated[Step, Tag("agent")]
    | Annotated[ToolStep, Tag("tool")]
    | Annotated[MapStep, Tag("map")]
    | Annotated[ApprovalStep, Tag("approval")]
    | Annotated[PlanStep, Tag("plan")],
    Discriminator(_kind),
]


class Input(Frozen):
    """A value that the plan asks its submitter for. It must be given, unless it has a default or says `required: false`."""

    type: Literal["string", "integer", "number", "boolean", "array", "object"] = "string"
    description: str = ""
    default: Stored = None
    required: bool = True

    @model_validator(mode="after")
    def _a_default_answers_for_itself(self) -> Self:
        if "default" in self.model_fields_set and "required" not in self.model_fields_set:
            object.__setattr__(self, "required", False)
        return self


class PlanLimits(Frozen):
    """The first three hold for each step that sets nothing itself, also in the plans inside this one; None for the run's own.

    The others hold for the plan as a whole: requests to models, tokens, US dollars and seconds that all its steps may take
    together; in a plan that is run, with its verdict and its answer. None for no limit beside the run's.
    """

    timeout: float | None = Field(default=None, gt=0)
    max_iterations: int | None = Field(default=None, gt=0)
    max_calls: int | None = Field(default=None, ge=0)
    max_requests: int | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_cost: Decimal | None = Field(default=None, ge=0)
    max_seconds: float | None = Field(default=None, gt=0)

    @property
    def budget(self) -> Amounts:
        """What the whole plan may take."""
        return Amounts(requests=self.max_requests, tokens=self.max_tokens, cost=self.max_cost, seconds=self.max_seconds)

    def within(self, outer: "PlanLimits") -> "PlanLimits":
        """The limits of a plan inside a plan: its own, and for each step those of the plan around it."""
        around = outer.model_dump(include={"timeout", "max_iterations", "max_calls"}, exclude_none=True)
        return PlanLimits(**around | self.model_dump(exclude_none=True))


class Draft(Frozen):
    """A plan's shape, unchecked: what a model proposed, or what a file says.

    `output` is a reference to one step's output, which then is the answer; None asks for a synthesis of all results.
    """

    goal: str = ""
    inputs: Mapping[str, Input] = Field(default_factory=dict)
    steps: Annotated[Sequence[AnyStep], AfterValidator(tuple)] = ()
    output: str | None = None
    limits: PlanLimits = Field(default_factory=PlanLimits)

    def values(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """The value of every input: the given one, else its default. References to inputs are resolved with these."""
        return {name: given.get(name, asked.default) for name, asked in self.inputs.items()}


class Plan(Draft):
    """A Draft without structural errors, its implied edges written out and each edge once. Raises `PlanError` otherwise."""

    @model_validator(mode="after")
    def _checked(self) -> Self:
        said = [mentions(step) for step in self.steps]
        errors = structural_errors(self, said)
        if errors:
            raise PlanError(errors)
        pairs = zip(self.steps, said, strict=True)
        object.__setattr__(self, "steps", tuple([_with_edges(_with_plans(step), each.needs) for step, each in pairs]))
        return self

    @classmethod
    def of(cls, draft: Draft) -> Self:
        """The draft, checked. Raises `PlanError`."""
        return cls(**dict(draft))

    def step(self, step_id: str) -> AnyStep:
        """The step of this id; KeyError when there is none."""
        return self._by_id[step_id]

    @cached_property
    def _by_id(self) -> Mapping[str, AnyStep]:
        return {step.id: step for step in self.steps}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields changed, checked like any other plan."""
        changed = Draft.model_copy(Draft(**dict(self)), update=update, deep=deep)
        return type(self).of(changed)


def plain_step(step: AnyStep) -> dict[str, Json]:
    """The step as a short JSON value: what has its default is left out."""
    kind = {} if step.kind == "agent" else {"kind": step.kind}
    return {"id": step.id} | kind | step.model_dump(mode="json", exclude_defaults=True)


def plain_draft(draft: Draft) -> dict[str, Json]:
    """The plan as a short JSON value: what has its default is left out."""
    written: dict[str, Json] = {"goal": draft.goal}
    if draft.inputs:
        written["inputs"] = {name: asked.model_dump(mode="json", exclude_unset=True) for name, asked in draft.inputs.items()}
    written["steps"] = [plain_step(step) for step in draft.steps]
    written |= {} if draft.output is None else {"output": draft.output}
    limits = draft.limits.model_dump(mode="json", exclude_defaults=True)
    return written | ({"limits": limits} if limits else {})


def _with_edges(step: AnyStep, needs: tuple[str, ...]) -> AnyStep:
    return step if needs == step.depends_on else step.model_copy(update={"depends_on": needs})


def _with_plans(step: AnyStep) -> AnyStep:
    """The step with the plans inside it built."""
    if step.kind == "plan":
        return step if isinstance(step.plan, Plan) else step.model_copy(update={"plan": Plan.of(step.plan)})
    if step.kind == "map" and step.step.kind in ("plan", "map"):
        return step.model_copy(update={"step": _with_plans(step.step)})
    return step
