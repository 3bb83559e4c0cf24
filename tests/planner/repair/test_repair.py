"""Repair as a whole."""

import pytest
from hypothesis import given, settings

from planner.check import Known, check
from planner.files import plain_plan
from planner.plan import Input, Plan
from planner.repair import repair
from registry.builtin.calculator import calculator
from tests.planner.drafts import answers, draft, drafts, step

KNOWN = Known(tools=frozenset({"search"}), hints=frozenset({"fast"}))


def test_right_answer():
    """An answer without faults is taken as it is, and nothing is reported."""
    right = draft(step("a", tool_hint="search"), step("b", "a", model_hint="fast", task="use ${steps.a.output}"))

    assert (right, ()) == repair(plain_plan(right), KNOWN)


def test_all_faults_at_once():
    """Faults of every kind in one answer are each mended, each reported, and what is left can run."""
    answer = {
        "steps": [
            "do x",
            {"id": "find it", "task": "Find it", "depends_on": "find it", "tool_hint": "serch"},
            {"id": "b", "task": "Read ${steps.c.output}", "depends_on": ["find it", "c", "nix"]},
            {"id": "c", "task": "Check ${VAR}", "depends_on": ["b"], "model_hint": "gpt"},
            {"id": "c", "task": "Find it"},
            {"id": "e", "task": ""},
        ]
    }

    mended, found = repair(answer, KNOWN, base=draft())

    assert {"find-it": (), "b": ("find-it", "c"), "c": ()} == {one.id: one.depends_on for one in Plan.of(mended).steps}
    assert {"repair"} == {one.severity for one in found}
    assert ["P002", "P003", "P004", "P005", "P006", "P007", "P008", "P009", "P010", "P012", "P012", "P017"] == sorted(
        one.code for one in found
    )


@pytest.mark.parametrize("value", [None, 3, "steps", {"steps": None}, {"step": []}])
def test_no_plan(value):
    """What is nothing like a plan gives no draft, and an error that says what is due."""
    none, (found,) = repair(value, KNOWN)

    assert none is None
    assert ("P012", "error") == (found.code, found.severity)


def test_base_stays():
    """Goal, inputs and steps of the base stay as they are, in front; new steps may use them."""
    base = draft(step("a", task="use ${inputs.i}", tool_hint="gone"), inputs={"i": Input()})

    mended, found = repair(
        {"goal": "another", "steps": [{"id": "b", "task": "go on with ${inputs.i}", "depends_on": ["a"]}]}, KNOWN, base=base
    )

    assert () == found
    assert base.goal == mended.goal
    assert base.inputs == mended.inputs
    assert (base.steps[0], step("b", "a", task="go on with ${inputs.i}")) == mended.steps


def test_hundred_identical_steps():
    """A model that repeats itself has said one thing."""
    answer = {"steps": [{"id": "s", "task": "Search the web", "depends_on": ["s"]} for _ in range(100)]}

    mended, _ = repair(answer, KNOWN, base=draft(), most=12)

    assert [("s", "Search the web", ())] == [(one.id, one.task, one.depends_on) for one in mended.steps]


@settings(max_examples=300, deadline=None)
@given(answers)
def test_any_answer(value):
    """Whatever comes, what is left is free of errors but for a lack of steps or of a goal."""
    mended, found = repair(value, KNOWN)

    assert {one.code for one in check(mended, KNOWN) if one.severity == "error"} <= {"P001", "P013"}
    assert {"repair"} >= {one.severity for one in found}


@settings(max_examples=300, deadline=None)
@given(drafts)
def test_idempotent(random):
    """A repaired draft needs no repair."""
    once, _ = repair(plain_plan(random), KNOWN, most=5)

    assert (once, ()) == repair(plain_plan(once), KNOWN, most=5)


def test_arguments_are_not_ours_to_change():
    """A call that its tool can't take stays an error, for the model to correct."""
    known = Known.of([calculator], {})
    answer = {"goal": "g", "steps": [{"id": "a", "kind": "tool", "tool": "calculator", "args": {"sum": "1"}}]}

    mended, found = repair(answer, known)

    assert ("calculator", {"sum": "1"}) == (mended.steps[0].tool, mended.steps[0].args)
    assert [("P019", "error"), ("P019", "error")] == [(one.code, one.severity) for one in found]
