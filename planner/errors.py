"""The errors of this layer."""

from planner.diagnostics import Diagnostic
from registry.errors import DagwrightError
from registry.origins import TRUSTED, Origins
from registry.usage import Usage

SHOWN = 20


class PlanError(DagwrightError):
    """A plan that can't be run. Its diagnostics go back to whoever wrote it: the model, or the submitter.

    `usage` is what the model spent on it, nothing for a submitted plan.
    """

    def __init__(self, diagnostics: tuple[Diagnostic, ...], *, usage: Usage | None = None) -> None:
        found = "; ".join(str(diagnostic) for diagnostic in diagnostics[:SHOWN])
        more = f"; and {len(diagnostics) - SHOWN} more" if len(diagnostics) > SHOWN else ""
        super().__init__(f"the plan can't be run: {found}{more}")
        self.diagnostics = diagnostics
        self.usage = usage or Usage()


class BrokenReference(DagwrightError):
    """A reference that can't be followed in the results as they came.

    `origins` are those of the result it was looked up in, because the sentence may quote that result's keys.
    """

    def __init__(self, reference: str, why: str, *, origins: Origins = TRUSTED) -> None:
        super().__init__(f"the reference {reference} can't be followed: {why}")
        self.reference, self.why, self.origins = reference, why, origins


class BadCondition(DagwrightError):
    """A text that is no condition. `at` is the character that can't stand there, from 0."""

    def __init__(self, condition: str, at: int, why: str) -> None:
        super().__init__(f"the condition can't be read at character {at + 1}: {why}")
        self.condition, self.at, self.why = condition, at, why


class Undecided(DagwrightError):
    """A condition that neither holds nor fails to hold, because the values it looks at don't suit it.

    `origins` are those of the values, because the sentence quotes them.
    """

    origins: Origins = TRUSTED

    def __init__(self, condition: str, why: str) -> None:
        super().__init__(f"the condition {condition!r} can't be decided: {why}")
        self.condition, self.why = condition, why
