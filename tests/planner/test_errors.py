"""Errors of the planner."""

from planner.diagnostics import error
from planner.errors import BrokenReference, PlanError
from registry.usage import Usage


def test_plan_error_names_everything():
    """The sentence has every finding, and the findings stay as values."""
    found = (error("P001", "", "no steps"), error("P013", "", "no goal"))

    raised = PlanError(found, usage=Usage(requests=2))

    assert found == raised.diagnostics
    assert "the plan can't be run: P001 error: no steps; P013 error: no goal" == str(raised)
    assert 2 == raised.usage.requests


def test_plan_error_stays_short():
    """Thousands of findings don't make a sentence of a megabyte."""
    raised = PlanError(tuple(error("P005", "", f"number {index}") for index in range(10_000)))

    assert str(raised).endswith("number 19; and 9980 more")
    assert 10_000 == len(raised.diagnostics)


def test_broken_reference():
    """The reference, the reason and the origins stay as attributes."""
    raised = BrokenReference("${steps.a.data.x}", "there is none", origins=("tool:t",))

    assert "the reference ${steps.a.data.x} can't be followed: there is none" == str(raised)
    assert ("${steps.a.data.x}", "there is none", ("tool:t",)) == (raised.reference, raised.why, raised.origins)
