"""What a revision changed."""

import pytest

from planner import Plan, Step, ToolStep
from planner.diff import changed_fields, plan_diff


def test_steps_by_what_became_of_them() -> None:
    """Added, removed, changed and kept, each in plan order; a step is the same when all of it is."""
    before = Plan(goal="g", steps=[Step(id=name, task=name) for name in "abcd"])
    after = Plan(
        goal="g", steps=[Step(id="b", task="b"), Step(id="a", task="other"), Step(id="f", task="f"), Step(id="e", task="e")]
    )

    assert {"added": ("f", "e"), "removed": ("c", "d"), "changed": ("a",), "kept": ("b",)} == plan_diff(before, after)


STEP = Step(id="a", task="look", tool_hint="search")


@pytest.mark.parametrize(
    ("after", "fields"),
    [
        pytest.param(STEP, (), id="the same"),
        pytest.param(Step(id="a", task="Look", depends_on=["b"]), ("task", "depends_on", "tool_hint"), id="changed and gone"),
        pytest.param(ToolStep(id="a", task="look", tool="search"), ("kind",), id="kind"),
    ],
)
def test_fields_that_changed(after: Step | ToolStep, fields: tuple[str, ...]) -> None:
    """Those that differ, and the kind alone where it is another."""
    found = changed_fields(STEP.model_dump(mode="json"), after.model_dump(mode="json"))

    assert set(fields) == set(found)
    assert len(fields) == len(found)
