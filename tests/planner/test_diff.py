"""What a revision changed."""

from planner import Plan, Step
from planner.diff import plan_diff


def test_steps_by_what_became_of_them() -> None:
    """Added, removed, changed and kept, each in plan order; a step is the same when all of it is."""
    before = Plan(goal="g", steps=[Step(id=name, task=name) for name in "abcd"])
    after = Plan(
        goal="g", steps=[Step(id="b", task="b"), Step(id="a", task="other"), Step(id="f", task="f"), Step(id="e", task="e")]
    )

    assert {"added": ("f", "e"), "removed": ("c", "d"), "changed": ("a",), "kept": ("b",)} == plan_diff(before, after)
