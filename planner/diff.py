"""What a revision changed."""

from collections.abc import Mapping

from planner.plan import Plan
from registry.messages import Json


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


def changed_fields(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[str, ...]:
    """The fields in which two steps differ, as JSON writes them: `kind` alone where they are of two kinds, for then all do."""
    if before.get("kind") != after.get("kind"):
        return ("kind",)
    return tuple(name for name in {**after, **before} if before.get(name) != after.get(name))
