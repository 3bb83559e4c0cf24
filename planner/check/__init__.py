"""Checks of plans, without side effects: a draft in, findings out. A run never starts on one that has errors."""

from planner.check.grants import Known, grant_errors
from planner.check.structure import structural_errors
from planner.diagnostics import Diagnostic
from planner.shapes import DraftShape

__all__ = ["Known", "check", "grant_errors", "structural_errors"]


def check(draft: DraftShape, known: Known) -> tuple[Diagnostic, ...]:
    """All that is wrong with the draft, by itself and against what the run has."""
    return structural_errors(draft) + grant_errors(draft, known)
