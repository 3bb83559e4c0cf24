"""`dagwright draw`: a picture of a plan file."""

from pathlib import Path

from orchestrator.cli.asked import read_written, sound
from orchestrator.cli.ending import ACHIEVED
from orchestrator.cli.view.text import harmless
from planner import Plan
from planner.drawing import FORMS, Form, draw
from planner.forecast import forecast
from registry.errors import ConfigurationError, there_are


def draw_plan(path: Path, wanted: str) -> int:
    """Prints the plan in the form that is wanted. Returns the exit code."""
    form = next((form for form in FORMS if form == wanted), None)
    if form is None:
        raise ConfigurationError(f"no form named {wanted!r}; {there_are(wanted, FORMS)}")
    print(drawn(sound(read_written(path)), form), end="")
    return ACHIEVED


def drawn(plan: Plan, form: Form) -> str:
    """The plan with the path marked that most probably takes longest."""
    return harmless(draw(plan, form, forecast(plan, lambda _: None).path))
