"""Random plans, valid and broken, through all that plans go through. `pytest --plans 20000` makes it a long test."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from planner.check import Known, check
from planner.check.structure import structural_errors
from planner.drawing import FORMS, draw
from planner.errors import PlanError
from planner.files import plain_plan, read_plan, write_plan, written_plan
from planner.forecast import forecast
from planner.plan import Plan
from planner.repair import repair
from registry.messages import Json
from registry.tools.function import tool
from tests.planner.drafts import answers, plans, submissions

LEFT = {"P001", "P013", "P019"}
"""What no rule can mend: there is no step, no goal, or an argument that its tool can't take."""


@tool(effect="pure")
def search(q: str) -> str:
    """Search."""
    return q


@tool(destinations=("to",))
def send(to: str, x: int) -> None:
    """Send."""


@dataclass(frozen=True)
class Weak:
    abilities: Mapping[str, bool]
    context_window: int | None = 800


KNOWN = replace(Known.of([search, send], {"weak": Weak({})}), hints=frozenset({"fast", "weak"}))


@pytest.mark.timeout(3600)
def test_random_plans(pytestconfig: pytest.Config) -> None:
    """The checker never crashes, and each finding in a file has its line; what passes can be drawn, forecast and written.

    Repair leaves no structural error but those that say why they can't be mended, and has nothing to add to its own work.
    """

    @settings(max_examples=pytestconfig.getoption("plans"))
    @given(answers | submissions | plans.map(plain_plan))
    def one(value: Json) -> None:
        submitted(value)
        answered(value)

    one()


def submitted(value: Json) -> None:
    text = json.dumps(value)
    try:
        written = written_plan(text, name="plan.json")
        findings = written.located(check(written.draft, KNOWN))
    except PlanError as wrong:
        written, findings = None, wrong.diagnostics
    assert all(found.line for found in findings)
    if written is None:
        return
    assert written.draft == read_plan(write_plan(written.draft), name="plan.yaml")
    if not structural_errors(written.draft):
        plan = Plan.of(written.draft)
        assert all(draw(plan, form, forecast(plan, lambda _: None).path) for form in FORMS)


def answered(value: Json) -> None:
    draft, found = repair(value, KNOWN)
    assert draft is not None
    left = check(draft, KNOWN)
    assert {one.code for one in left if one.severity == "error"} <= LEFT
    assert {one.code for one in found if one.severity == "error"} <= {"P019"}
    once = repair(plain_plan(draft), KNOWN)
    assert (draft, [one for one in found if one.severity == "error"]) == (once[0], list(once[1]))
