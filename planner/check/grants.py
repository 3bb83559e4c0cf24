"""The checks against what a run has to offer: its tools, its models and the inputs it was given."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from planner.diagnostics import Diagnostic, error, pointer
from planner.shapes import DraftShape
from registry.errors import there_are
from registry.messages import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a run has: tools by name, `hints` (roles and models), and the values given for the plan's inputs."""

    tools: frozenset[str] = frozenset()
    hints: frozenset[str] = frozenset()
    inputs: Mapping[str, Json] = field(default_factory=dict)


def grant_errors(draft: DraftShape, known: Known) -> tuple[Diagnostic, ...]:
    """Everything that the plan asks of the run and that the run doesn't have, and the inputs that don't fit."""
    return tuple(chain(_of_names(draft, known), _of_inputs(draft, known)))


def _of_names(draft: DraftShape, known: Known) -> Iterator[Diagnostic]:
    for index, step in enumerate(draft.steps):
        place = pointer("steps", index)
        yield from _unknown("P008", "tool", ((place + inside, name) for inside, name in step.tool_names()), known.tools)
        yield from _unknown("P009", "model or role", ((place + inside, name) for inside, name in step.model_names()), known.hints)


def _unknown(code: str, what: str, named: Iterator[tuple[str, str]], known: Collection[str]) -> Iterator[Diagnostic]:
    for place, name in named:
        if name not in known:
            yield error(code, place, f"no {what} named {name!r}; {there_are(name, known)}")


def _of_inputs(draft: DraftShape, known: Known) -> Iterator[Diagnostic]:
    for name, asked in draft.inputs.items():
        if asked.required and name not in known.inputs:
            yield error("P011", pointer("inputs", name), f"the input {name!r} was not given", fix="give it, or a default")
    for name in known.inputs:
        if name not in draft.inputs:
            yield error("P015", "/inputs", f"the plan has no input named {name!r}; {there_are(name, draft.inputs)}")
