"""The first pass: steps out of whatever the model wrote. A field that can't be used goes, the rest of its step stays."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from pydantic import TypeAdapter, ValidationError

from planner.diagnostics import Diagnostic, pointer, repaired
from planner.files.fields import sentence
from planner.plan import AnyStep
from planner.repair.entries import Entry, Mended
from registry.messages import Json

_EDGES = ("depends_on", "dependencies", "needs")
_PEOPLES = ("when", "output_schema", "verify", "retries", "escalate", "max_calls", "estimate")
"""Fields that are for people to set, for whoever sets them must know what the step will give, or what may be spent on it."""
_NESTING = ("map", "plan")
_BETWEEN = re.compile(r"\s*[,;]\s*")


@cache
def _steps() -> TypeAdapter[AnyStep]:
    return TypeAdapter(AnyStep)


def entries_of(value: Json) -> Mended | None:
    """The steps of an answer: of its field `steps`, or of a bare list. None when there is nothing of the kind."""
    steps = value.get("steps") if isinstance(value, Mapping) else value
    if not isinstance(steps, list | tuple):
        return None
    found: list[Diagnostic] = []
    for name in value if isinstance(value, Mapping) else ():
        if name not in ("goal", "steps") and value[name] not in (None, "", [], {}):
            found.append(repaired("P012", pointer(name), f"dropped the field {name!r}: it is not for a model to set"))
    entries = [_entry(at, raw, found) for at, raw in enumerate(steps)]
    return tuple(entry for entry in entries if entry is not None), found


def _entry(at: int, raw: Json, found: list[Diagnostic]) -> Entry | None:
    if not isinstance(raw, Mapping):
        found.append(repaired("P012", pointer("steps", at), "dropped: a step is an object"))
        return None
    written = next((name for name in _EDGES if name in raw), "depends_on")
    fields = {name: value for name, value in raw.items() if name != written and not _is_peoples(name, value)}
    barred = [pointer("steps", at, name) for name in raw if name != written and name not in fields]
    found.extend(repaired("P012", place, "it is not for a model to set: dropped") for place in barred)
    fields["id"] = _id(raw.get("id"))
    edges, faults = _edges(raw.get(written))
    found.extend(repaired("P012", pointer("steps", at, written), fault) for fault in faults)
    return Entry(at=at, step=_validated(at, fields | {"depends_on": edges}, found))


def _is_peoples(name: str, value: Json) -> bool:
    return name in _PEOPLES or (name == "kind" and value in _NESTING)


def _id(value: Json) -> str:
    """The id as text; empty, for a later pass to fill, when it is of another type."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _edges(value: Json) -> tuple[list[str], list[str]]:
    """The dependencies, and what was wrong with how they were written."""
    match value:
        case None:
            return [], []
        case str() if not value.strip():
            return [], ["an empty text is no dependency: dropped"]
        case str():
            return _BETWEEN.split(value.strip()), ["a list of ids is due, not a text: split at its commas"]
        case int() if not isinstance(value, bool):
            return [str(value)], ["a list of ids is due, not a number: taken as one id"]
        case list() | tuple():
            ids = [_id(item) for item in value]
            unusable = [f"entry {number} is not an id: dropped" for number, name in enumerate(ids) if not name]
            return [name for name in ids if name], unusable
        case _:
            return [], ["a list of ids is due: dropped"]


def _validated(at: int, fields: dict[str, Json], found: list[Diagnostic]) -> AnyStep:
    """The step of these fields, without those at fault."""
    try:
        return _steps().validate_python(fields)
    except ValidationError as invalid:
        faults = dict(_faults(at, invalid))
    found.extend(repaired("P012", pointer("steps", at, name), f"{why}: dropped") for name, why in faults.items())
    return _validated(at, {name: value for name, value in fields.items() if name not in faults}, found)


def _faults(at: int, invalid: ValidationError) -> Iterator[tuple[str, str]]:
    """The fields to leave out, and why. Where a field lacks that the kind demands, it is the kind that goes."""
    for fault in invalid.errors(include_url=False):
        loc = fault["loc"]
        blamed = "kind" if len(loc) < 2 or fault["type"] == "missing" else str(loc[1])
        yield blamed, sentence(fault["type"], ("steps", at, *loc), fault["msg"], fault["input"], fault.get("ctx", {}))
