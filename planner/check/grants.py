"""The checks against what a run has to offer: its tools, its models and the inputs it was given."""

from collections.abc import Iterator
from itertools import chain

from planner.check.known import Known
from planner.check.schemas import json_types
from planner.diagnostics import Diagnostic, error, pointer
from planner.plan import Draft
from registry.errors import there_are


def grant_errors(draft: Draft, known: Known) -> tuple[Diagnostic, ...]:
    """Everything that the plan asks of the run and that the run doesn't have, and the inputs that don't fit."""
    return tuple(chain(_of_names(draft, known), _of_inputs(draft, known)))


def _of_names(draft: Draft, known: Known) -> Iterator[Diagnostic]:
    for index, step in enumerate(draft.steps):
        for inside, name in step.tool_names():
            if name not in known.tools:
                message = f"no tool named {name!r}; {there_are(name, known.tools)}"
                yield error("P008", pointer("steps", index) + inside, message)
        for inside, name in step.model_names():
            if name not in known.hints:
                message = f"no model or role named {name!r}; {there_are(name, known.hints)}"
                yield error("P009", pointer("steps", index) + inside, message)


def _of_inputs(draft: Draft, known: Known) -> Iterator[Diagnostic]:
    for name, asked in draft.inputs.items():
        if asked.required and name not in known.inputs:
            yield error("P011", pointer("inputs", name), f"the input {name!r} was not given", fix="give it, or a default")
    for name, value in known.inputs.items():
        if name not in draft.inputs:
            yield error("P015", "/inputs", f"the plan has no input named {name!r}; {there_are(name, draft.inputs)}")
        elif value is not None and draft.inputs[name].type not in json_types(value):
            yield error("P012", pointer("inputs", name), f"the input {name!r} is no {draft.inputs[name].type}")
