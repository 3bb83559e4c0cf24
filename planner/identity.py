"""Which step is which, whatever it is called: the same work has the same digest in every plan and every process."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.graph import graph, order
from planner.plan import AnyStep, Draft, MapStep, PlanStep
from planner.references import Reference, Unreadable, renamed, rewrite
from registry.digests import digest
from registry.messages import Json

_NOT_THE_WORK = {
    "id",
    "depends_on",
    "timeout",
    "on_failure",
    "optional",
    "max_iterations",
    "max_calls",
    "accept",
    "in_doubt",
    "retries",
    "estimate",
    "width",
}


def step_digests(plan: Draft, inputs: Mapping[str, Json]) -> dict[str, str]:
    """A content digest by step id, in plan order.

    It covers kind, task, question, hints, tools and arguments, conditions and checks, what maps and plans consist of, the
    values of the inputs that the step refers to, and the digests of its dependencies. Ids, limits and policies are not in it.
    Steps of one plan that are equal get `#2`, `#3`, ... in plan order. `inputs` are those given to the run.
    """
    return _digests(plan, {name: digest(value) for name, value in plan.values(inputs).items()})


def nested_digests(parent: str, plan: Draft, inputs: Mapping[str, Json]) -> dict[str, str]:
    """The digests of the steps of a plan that is the step of digest `parent`."""
    return {step_id: digest([parent, each]) for step_id, each in step_digests(plan, inputs).items()}


def item_digests(parent: str, items: Sequence[Json]) -> tuple[str, ...]:
    """The digests of what the map of digest `parent` does with its items. Equal items are told apart by their order."""
    return tuple(_numbered(digest([parent, item]) for item in items))


def _digests(plan: Draft, values: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    seen: dict[str, int] = {}
    by_id = {step.id: step for step in plan.steps}
    for step_id in order(graph(plan.steps)):
        content = digest(_content(by_id[step_id], found, values))
        seen[content] = seen.get(content, 0) + 1
        found[step_id] = content if seen[content] == 1 else f"{content}#{seen[content]}"
    return {step.id: found[step.id] for step in plan.steps}


def _numbered(digests: Iterable[str]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for each in digests:
        seen[each] = seen.get(each, 0) + 1
        yield each if seen[each] == 1 else f"{each}#{seen[each]}"


def _content(step: AnyStep, steps: Mapping[str, str], inputs: Mapping[str, str]) -> Json:
    def written(reference: Reference | Unreadable) -> str:
        match reference:
            case Reference(source="steps", name=name):
                return renamed(reference, steps[name])
            case Reference(source="inputs", name=name):
                return renamed(reference, inputs[name])
            case _:
                return reference.text

    return {
        "kind": step.kind,
        "work": rewrite(_work(step), written),
        "after": [steps[dependency] for dependency in step.depends_on],
    }


def _work(step: AnyStep) -> dict[str, Json]:
    # Without defaults, so that a field which is added to the language one day changes no digest of a run that is under way.
    work = step.model_dump(mode="json", exclude=_NOT_THE_WORK | {"step", "plan"}, exclude_defaults=True)
    match step:
        case MapStep(step=inner):
            return work | {"step": {"kind": inner.kind, "work": _work(inner)}}
        case PlanStep(plan=plan):
            return work | {"plan": _plan_digest(plan)}
        case _:
            return work


def _plan_digest(plan: Draft) -> str:
    """Of all that a plan does, whatever it is given: that is told by the arguments of the step around it."""
    steps = _digests(plan, {name: digest(["input", name]) for name in plan.inputs})
    output = None if plan.output is None else rewrite(plan.output, lambda found: _named(found, steps))
    return digest([list(steps.values()), output, {name: asked.default for name, asked in plan.inputs.items()}])


def _named(found: Reference | Unreadable, steps: Mapping[str, str]) -> str:
    return renamed(found, steps[found.name]) if isinstance(found, Reference) else found.text
