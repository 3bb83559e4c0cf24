"""Turns what pydantic has to say about a draft into diagnostics that a person can act on."""

from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from planner.diagnostics import Diagnostic, error, pointer
from planner.plan import (
    ApprovalStep,
    Draft,
    Estimate,
    ExpressionCheck,
    Input,
    JudgeCheck,
    MapStep,
    PlanLimits,
    PlanStep,
    SchemaCheck,
    Spread,
    Step,
    ToolCheck,
    ToolStep,
)
from registry.errors import there_are
from registry.messages import Json

Place = tuple[str | int, ...]

_STEPS: Mapping[str, type[BaseModel]] = {
    "agent": Step,
    "tool": ToolStep,
    "map": MapStep,
    "approval": ApprovalStep,
    "plan": PlanStep,
}
_CHECKS: Mapping[str, type[BaseModel]] = {
    "fits": SchemaCheck,
    "holds": ExpressionCheck,
    "tool": ToolCheck,
    "judge": JudgeCheck,
}
_PARTS: Mapping[str | int, type[BaseModel]] = {
    "limits": PlanLimits,
    "estimate": Estimate,
    "calls": Spread,
    "tokens": Spread,
    "seconds": Spread,
}

_DUE = {
    "string_type": "a text",
    "string_pattern_mismatch": "a text that says something",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "is_instance_of": "a list",
    "sequence_str": "a list",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def field_errors(invalid: ValidationError) -> tuple[Diagnostic, ...]:
    """One finding for each field at fault, with its place in the plan."""
    found = invalid.errors(include_url=False)
    return tuple(_finding(fault["type"], fault["loc"], fault["msg"], fault["input"], fault.get("ctx", {})) for fault in found)


def sentence(kind: str, loc: Place, message: str, value: Json, context: Mapping[str, Json]) -> str:
    """What is wrong with one field. `loc` is as in the error of a whole draft."""
    name = str(loc[-1]) if loc else "the plan"
    match kind:
        case "extra_forbidden":
            said = f"unknown field {name!r}; {there_are(name, _fields(loc))}"
        case "missing":
            said = f"the field {name!r} is missing"
        case "union_tag_invalid":
            said = f"there is no kind {context['tag']!r}; {there_are(context['tag'], _STEPS)}"
        case "literal_error":
            said = f"{_shown(value)} is not one of {context['expected']}"
        case "greater_than":
            said = f"a number above {context['gt']:g} is due, not {_shown(value)}"
        case _ if kind in _DUE:
            said = f"{_DUE[kind]} is due, not {_shown(value)}"
        case _:
            said = message[:1].lower() + message[1:]
    return said


def _finding(kind: str, loc: Place, message: str, value: Json, context: Mapping[str, Json]) -> Diagnostic:
    return error("P012", pointer(*_untagged(loc)), sentence(kind, loc, message, value, context))


def _untagged(loc: Place) -> Place:
    """The place without the kinds of steps and checks, which pydantic puts in after what holds one."""
    return tuple(part for at, part in enumerate(loc) if not _is_tag(loc, at))


def _is_tag(loc: Place, at: int) -> bool:
    if loc[at] in _STEPS:
        return loc[at - 2 : at - 1] == ("steps",) or loc[max(0, at - 2) : at] == ("map", "step")
    return loc[at] in _CHECKS and loc[at - 1] == "verify"


def _fields(loc: Place) -> tuple[str, ...]:
    """The fields that there are where the last part of the place should be one of them."""
    holder = loc[-2] if len(loc) > 1 else ""
    if len(loc) > 1 and _is_tag(loc, len(loc) - 2):
        model = _CHECKS[str(holder)] if loc[-3] == "verify" else _STEPS[str(holder)]
    elif loc[-3:-2] == ("inputs",):
        model = Input
    else:
        model = _PARTS.get(holder, Draft)
    return tuple(model.model_fields)


def _shown(value: Json) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value[:40]!r}"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"
