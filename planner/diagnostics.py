"""What the plan checker finds: stable codes, the exact place, what to do."""

from typing import Literal

from msgspec import Struct

Severity = Literal["error", "warning", "repair"]


class Diagnostic(Struct, frozen=True, kw_only=True):
    """One finding.

    `place` is a JSON pointer into the plan (`/steps/2/depends_on/0`), empty for the plan as a whole. `fix` says what to do.
    A "repair" is an error that a deterministic pass has already mended; its message says how. A finding in a file has `line` and
    `column` as well, both from 1.
    """

    code: str
    severity: Severity
    place: str
    message: str
    fix: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        at = (self.place, *((f"line {self.line}, column {self.column}",) if self.line else ()))
        where = f" at {', '.join(filter(None, at))}" if any(at) else ""
        fix = f" ({self.fix})" if self.fix else ""
        return f"{self.code} {self.severity}{where}: {self.message}{fix}"


CODES = {
    "P001": "the plan has no steps",
    "P002": "a step's id is not usable",
    "P003": "two steps share an id",
    "P004": "a step depends on itself",
    "P005": "a dependency names no step",
    "P006": "steps wait for each other in a circle",
    "P007": "an agent step has no task",
    "P008": "a tool is not among the run's tools",
    "P009": "a model hint is neither a role nor a model",
    "P010": "a reference can't be read or points at nothing",
    "P011": "an input without default was not given",
    "P012": "a field is unknown or of the wrong type",
    "P013": "the plan has no goal",
    "P014": "the text is not a plan in JSON or YAML",
    "P015": "an input was given that the plan does not have",
    "P016": "the plan has more steps than were asked for",
    "P017": "two steps do the same",
    "P018": "a reference reads what its step does not promise",
    "P019": "a tool can't take an argument",
    "P020": "nothing uses a step",
    "P021": "a dependency does nothing but make its step wait",
    "P022": "more results come together than the model's window holds",
    "P023": "two steps may write to one place at the same time",
    "P024": "a risky step is neither verified nor approved",
    "P025": "a model lacks an ability that its step needs",
    "P026": "a condition can't be read",
    "P027": "a map has no list to go over",
    "P028": "a schema is no JSON Schema",
    "P029": "a step is the same as an earlier one",
}
"""Every code and what it stands for. A code is never reused for something else."""


def error(code: str, place: str, message: str, *, fix: str = "") -> Diagnostic:
    """A finding that keeps the plan from running."""
    return Diagnostic(code=code, severity="error", place=place, message=message, fix=fix)


def warning(code: str, place: str, message: str, *, fix: str = "") -> Diagnostic:
    """A finding that may well be meant: the plan can be run as it is."""
    return Diagnostic(code=code, severity="warning", place=place, message=message, fix=fix)


def repaired(code: str, place: str, message: str) -> Diagnostic:
    """An error that has been mended; the message says what was wrong and what was done."""
    return Diagnostic(code=code, severity="repair", place=place, message=message)


def pointer(*parts: str | int) -> str:
    """The JSON pointer (RFC 6901) of these keys and positions."""
    return "".join([f"/{part}" if isinstance(part, int) else f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts])
