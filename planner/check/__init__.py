"""Checks of plans, without side effects: a draft in, findings out. A run never starts on one that has errors."""

from typing import TYPE_CHECKING

from registry.lazy import lazily

if TYPE_CHECKING:  # plans are built with the structural checks, so those must come without the others, which know plans
    from planner.check.known import Known
    from planner.check.whole import check

__all__ = ["Known", "check"]

__getattr__ = lazily(__name__, {"Known": "known", "check": "whole"})
