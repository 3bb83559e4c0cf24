"""The plan: a checked, frozen DAG of steps. Python, JSON and YAML say the same thing.

A `Draft` has the right shape and nothing more is known about it. A `Plan` is a Draft that passed the structural checks: it
can't be built otherwise.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from planner.check.structure import structural_errors
from planner.diagnostics import pointer
from planner.errors import PlanError
from planner.references import implied
from registry.calls import InDoubt
from registry.messages import Json
from registry.storable import unstorable

OnFailure = Literal["skip_dependents", "continue", "stop"]
Accept = Literal["exhausted", "truncated", "refused", "empty"]


def _as_text(value: object) -> object:
    """Ids are opaque text: a YAML file may write `id: 1`. True and False are not ids."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_list(value: object) -> object:
    """`depends_on: a` means `depends_on: [a]`, and nothing means none."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str | int) else value


def _stored(value: Json, field: ValidationInfo) -> Json:
    """A plan is written down, so it holds JSON and nothing else."""
    found = unstorable(value, str(field.field_name))
    if found is not None:
        raise PydanticCustomError("unstorable", "{found}", {"found": found})
    return value


Id = Annotated[str, BeforeValidator(_as_text)]
Ids = Annotated[Sequence[Id], BeforeValidator(_as_list), AfterValidator(tuple)]
Args = Annotated[Mapping[str, Json], AfterValidator(_stored)]
Names = Annotated[Sequence[str], AfterValidator(tuple)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class BaseStep(_Frozen):
    """What steps of every kind share.

    `depends_on` may also be written `dependencies` or `needs`; a reference in the step adds to it by itself.
    `timeout` is seconds, None for the run's default (600). `on_failure` says what a failure does to others:
    "skip_dependents" skips what waits for the step, "continue" lets them start without its result, "stop" lets nothing
    new start. `in_doubt` says what becomes of an effect that was begun when the process died: "ask" a person, "retry" and
    risk that it happens twice, "skip" it, "fail", or "probe" the tool before a person is asked.
    """

    id: Id
    task: str = ""
    depends_on: Ids = Field(default=(), validation_alias=AliasChoices("depends_on", "dependencies", "needs"))
    timeout: float | None = Field(default=None, gt=0)
    on_failure: OnFailure = "skip_dependents"
    in_doubt: InDoubt = "ask"

    @property
    def about(self) -> str:
        """What the step is for, in words; empty where its fields say it all."""
        return self.task

    def texts(self) -> Iterator[tuple[str, Json]]:
        """Every value of the step that may hold references, with its place relative to the step."""
        yield "/task", self.task

    def tool_names(self) -> Iterator[tuple[str, str]]:
        """Every tool that the step names, with its place relative to the step."""
        yield from ()

    def model_names(self) -> Iterator[tuple[str, str]]:
        """Every model or role that the step names, with its place relative to the step."""
        yield from ()


class Step(BaseStep):
    """A task for a fresh `ReActAgent`.

    `model_hint` is a role or a model's name, None for the role `general`. `tools` grants: the agent gets these and no others;
    None means all the run's tools. `tool_hint` prefers: the prompt names it. `accept` lists outcomes besides `completed`
    that let dependents run.
    """

    kind: Literal["agent"] = "agent"
    model_hint: str | None = None
    tools: Names | None = None
    tool_hint: str | None = None
    max_iterations: int | None = Field(default=None, gt=0)
    accept: Annotated[Sequence[Accept], AfterValidator(tuple)] = ()

    def tool_names(self) -> Iterator[tuple[str, str]]:
        for number, tool in enumerate(self.tools or ()):
            yield pointer("tools", number), tool
        if self.tool_hint is not None:
            yield "/tool_hint", self.tool_hint

    def model_names(self) -> Iterator[tuple[str, str]]:
        if self.model_hint is not None:
            yield "/model_hint", self.model_hint


class ToolStep(BaseStep):
    """One tool call, no model. `args` may hold references, at any depth; one that stands alone keeps its type."""

    kind: Literal["tool"] = "tool"
    tool: str
    args: Args = Field(default_factory=dict)

    def texts(self) -> Iterator[tuple[str, Json]]:
        yield from super().texts()
        yield "/args", self.args

    def tool_names(self) -> Iterator[tuple[str, str]]:
        yield "/tool", self.tool


class ApprovalStep(BaseStep):
    """A person's yes or no, without which what depends on the step does not start. `question` is what they are shown."""

    kind: Literal["approval"] = "approval"
    question: str = Field(pattern=r"\S")

    @property
    def about(self) -> str:
        return self.task or self.question

    def texts(self) -> Iterator[tuple[str, Json]]:
        yield from super().texts()
        yield "/question", self.question


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return str(value.get("kind", "agent"))
    return str(getattr(value, "kind", "agent"))


AnyStep = Annotated[
    Annotated[Step, Tag("agent")] | Annotated[ToolStep, Tag("tool")] | Annotated[ApprovalStep, Tag("approval")],
    Discriminator(_kind),
]


class Input(_Frozen):
    """A value that the plan asks its submitter for. It must be given, unless it has a default or says `required: false`."""

    type: Literal["string", "integer", "number", "boolean", "array", "object"] = "string"
    description: str = ""
    default: Annotated[Json, AfterValidator(_stored)] = None
    required: bool = True

    @model_validator(mode="after")
    def _a_default_answers_for_itself(self) -> Self:
        if "default" in self.model_fields_set and "required" not in self.model_fields_set:
            object.__setattr__(self, "required", False)
        return self


class Draft(_Frozen):
    """A plan's shape, unchecked: what a model proposed, or what a file says.

    `output` is a reference to one step's output, which then is the answer; None asks for a synthesis of all results.
    """

    goal: str = ""
    inputs: Mapping[str, Input] = Field(default_factory=dict)
    steps: Annotated[Sequence[AnyStep], AfterValidator(tuple)] = ()
    output: str | None = None

    def values(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """The value of every input: the given one, else its default. References to inputs are resolved with these."""
        return {name: given.get(name, asked.default) for name, asked in self.inputs.items()}


class Plan(Draft):
    """A Draft without structural errors, its implied edges written out and each edge once. Raises `PlanError` otherwise."""

    @model_validator(mode="after")
    def _checked(self) -> Self:
        errors = structural_errors(self)
        if errors:
            raise PlanError(errors)
        object.__setattr__(self, "steps", tuple(_with_implied_edges(step) for step in self.steps))
        return self

    @classmethod
    def of(cls, draft: Draft) -> Self:
        """The draft, checked. Raises `PlanError`."""
        return cls(goal=draft.goal, inputs=draft.inputs, steps=draft.steps, output=draft.output)

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


def _with_implied_edges(step: AnyStep) -> AnyStep:
    needed = tuple(dict.fromkeys((*step.depends_on, *implied(step))))
    return step if needed == step.depends_on else step.model_copy(update={"depends_on": needed})
