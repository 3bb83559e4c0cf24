"""The steps that are one thing: a task for an agent, a tool call, a question to a person."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from planner.diagnostics import Diagnostic, error, pointer
from planner.plan.base import BaseStep, WorkStep
from planner.plan.fields import Args, Names
from planner.plan.policies import Accept
from registry.messages import Json


class Step(WorkStep):
    """A task for a fresh `ReActAgent`.

    `model_hint` is a role or a model's name, None for the role `general`. `escalate` names the models that take over in turn
    when all tries of the one before have failed; without a `model_hint` the first of them begins. `tools` grants: the agent
    gets these and no others; None means all the run's tools. `tool_hint` prefers: the prompt names it. `max_calls` is how many
    tool calls it may make. `accept` lists outcomes besides `completed` that let dependents run.
    """

    kind: Literal["agent"] = "agent"
    model_hint: str | None = None
    escalate: Names = ()
    tools: Names | None = None
    tool_hint: str | None = None
    max_iterations: int | None = Field(default=None, gt=0)
    max_calls: int | None = Field(default=None, ge=0)
    accept: Annotated[Sequence[Accept], AfterValidator(tuple)] = ()

    @property
    def hints(self) -> tuple[str | None, ...]:
        """The models of the step in the order of their turns."""
        first = () if self.model_hint is None and self.escalate else (self.model_hint,)
        return tuple(dict.fromkeys((*first, *self.escalate)))

    def tool_names(self) -> Iterator[tuple[str, str]]:
        for number, tool in enumerate(self.tools or ()):
            yield pointer("tools", number), tool
        if self.tool_hint is not None:
            yield "/tool_hint", self.tool_hint
        yield from super().tool_names()

    def model_names(self) -> Iterator[tuple[str, str]]:
        if self.model_hint is not None:
            yield "/model_hint", self.model_hint
        yield from ((pointer("escalate", number), hint) for number, hint in enumerate(self.escalate))
        yield from super().model_names()

    def faults(self) -> Iterator[Diagnostic]:
        if not self.task.strip():
            yield error("P007", "/task", f"step {self.id!r} has no task", fix="say what it is to do")
        yield from super().faults()


class ToolStep(WorkStep):
    """One tool call, no model. `args` may hold references, at any depth; one that stands alone keeps its type."""

    kind: Literal["tool"] = "tool"
    tool: str
    args: Args = Field(default_factory=dict)

    def texts(self) -> Iterator[tuple[str, Json]]:
        yield from super().texts()
        yield "/args", self.args

    def tool_names(self) -> Iterator[tuple[str, str]]:
        yield "/tool", self.tool
        yield from super().tool_names()


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
