"""What a run is asked for: a goal in words, or a plan file with the values of its inputs."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import orjson
from msgspec import Struct, field
from pydantic import TypeAdapter, ValidationError

from orchestrator.cli.options import Options
from planner import Diagnostic, Draft, Plan, PlanError
from planner.diagnostics import error, pointer
from planner.files import WrittenPlan, written_plan
from planner.plan import Input
from registry.errors import ConfigurationError
from registry.messages import Json

PLAN_SUFFIXES = (".yaml", ".yml", ".json")

_TYPES: Mapping[str, TypeAdapter[Json]] = {
    "integer": TypeAdapter(int),
    "number": TypeAdapter(int | float),
    "boolean": TypeAdapter(bool),
    "array": TypeAdapter(list[Json]),
    "object": TypeAdapter(dict[str, Json]),
}


class Asked(Struct, frozen=True, kw_only=True):
    """`root` is the folder that the file tools see. `written` is the file that the plan came from, if it came from one."""

    goal: str | Plan
    root: Path
    written: WrittenPlan | None = None
    inputs: Mapping[str, Json] = field(default_factory=dict)


def asked(argument: str, options: Options) -> Asked:
    """What the argument asks for. Raises `ConfigurationError` for a file that can't be read, `PlanError` for a wrong plan."""
    if not _is_plan(argument):
        if options.inputs:
            raise ConfigurationError("--input is for the inputs of a plan file, and a goal has none")
        return Asked(goal=goal_text(argument), root=options.root or Path())
    path = Path(argument)
    written = read_written(path)
    plan = sound(written)
    inputs, findings = read_inputs(plan, options.inputs)
    if findings:
        raise PlanError(written.located(findings))
    return Asked(goal=plan, root=options.root or path.parent, written=written, inputs=inputs)


def goal_text(argument: str) -> str:
    """The goal, from stdin where the argument is "-"."""
    goal = (sys.stdin.read() if argument == "-" else argument).strip()
    if not goal:
        raise ConfigurationError("the goal is empty; say what you want")
    return goal


def read_written(path: Path) -> WrittenPlan:
    """The draft that a file holds. Raises `PlanError` for what is in it, `ConfigurationError` when it can't be read."""
    return written_plan(_text(path, "the plan file"), name=path.name)


def sound(written: WrittenPlan) -> Plan:
    """The plan that was written. Raises `PlanError`, which says in which line what is wrong."""
    try:
        return Plan.of(written.draft)
    except PlanError as wrong:
        raise PlanError(written.located(wrong.diagnostics)) from wrong


def read_inputs(draft: Draft, given: tuple[str, ...]) -> tuple[dict[str, Json], tuple[Diagnostic, ...]]:
    """The values of `NAME=VALUE` and `NAME=@FILE`, by the types that the plan declares, and what is wrong with them."""
    values: dict[str, Json] = {}
    findings = []
    for assignment in given:
        name, equals, text = assignment.partition("=")
        if not equals or not name:
            raise ConfigurationError(f"--input {assignment!r} gives no value; write NAME=VALUE or NAME=@FILE")
        if name in values:
            raise ConfigurationError(f"the input {name!r} is given twice")
        text = _text(Path(text[1:]), f"the file for input {name!r}") if text.startswith("@") else text
        wanted = draft.inputs.get(name, Input()).type
        try:
            values[name] = text if wanted == "string" else _TYPES[wanted].validate_python(orjson.loads(text), strict=True)
        except (ValidationError, orjson.JSONDecodeError):
            values[name] = None
            findings.append(error("P012", pointer("inputs", name), f"the input {name!r} is no {wanted}", fix="write it in JSON"))
    return values, tuple(findings)


def _is_plan(argument: str) -> bool:
    return argument.lower().endswith(PLAN_SUFFIXES) or os.path.isfile(argument)


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as failure:
        raise ConfigurationError(f"{what}, {str(path)!r}, can't be read: {failure.strerror}") from failure
    except UnicodeDecodeError as failure:
        raise ConfigurationError(f"{what}, {str(path)!r}, is not UTF-8 text") from failure
