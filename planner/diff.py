"""What a revision changed."""

from collections.abc import Mapping

from planner.plan import Plan


def plan_diff(before: Plan, after: Plan) -> Mapping[str, tuple[str, ...]]:
    """Step ids by what became of them: `added`, `removed`, `changed`, `kept`; each in plan order."""
    old = {step.id: step for step in before.steps}
    new = {step.id: step for step in after.steps}
    return {
        "added": tuple(name for name in new if name not in old),
        "removed": tuple(name for name in old if name not in new),
        "changed": tuple(name for name in new if name in old and new[name] != old[name]),
        "kept": tuple(name for name in new if name in old and new[name] == old[name]),
    }
