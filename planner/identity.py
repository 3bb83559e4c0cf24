"""Which step is which, whatever it is called: the same work has the same digest in every plan and every process."""

from collections.abc import Mapping

from planner.graph import graph, order
from planner.plan import AnyStep, Plan
from planner.references import Reference, Unreadable, renamed, rewrite
from registry.digests import digest
from registry.messages import Json

_NOT_THE_WORK = {"id", "depends_on", "timeout", "on_failure", "max_iterations", "accept", "in_doubt"}


def step_digests(plan: Plan, inputs: Mapping[str, Json]) -> dict[str, str]:
    """A content digest by step id, in plan order.

    It covers kind, task, question, hints, tools and arguments, the values of the inputs that the step refers to, and the
    digests of its dependencies. Ids, limits and policies are not in it. Steps of one plan that are equal get `#2`, `#3`, ... in
    plan order. `inputs` are those given to the run.
    """
    values = {name: digest(value) for name, value in plan.values(inputs).items()}
    found: dict[str, str] = {}
    seen: dict[str, int] = {}
    for step_id in order(graph(plan.steps)):
        content = digest(_content(plan.step(step_id), found, values))
        seen[content] = seen.get(content, 0) + 1
        found[step_id] = content if seen[content] == 1 else f"{content}#{seen[content]}"
    return {step.id: found[step.id] for step in plan.steps}


def _content(step: AnyStep, steps: Mapping[str, str], inputs: Mapping[str, str]) -> Json:
    def written(reference: Reference | Unreadable) -> str:
        match reference:
            case Reference(source="steps", name=name):
                return renamed(reference, steps[name])
            case Reference(source="inputs", name=name):
                return renamed(reference, inputs[name])
            case _:
                return reference.text

    # Without defaults, so that a field which is added to the language one day changes no digest of a run that is under way.
    work = step.model_dump(mode="json", exclude=_NOT_THE_WORK, exclude_defaults=True)
    return {"kind": step.kind, "work": rewrite(work, written), "after": [steps[dependency] for dependency in step.depends_on]}
