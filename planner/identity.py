"""Which step is which, whatever it is called: the same work has the same digest in every plan and every process."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from planner.graph import graph, in_turn, order
from planner.plan import AnyStep, BaseStep, Draft, Plan
from planner.references import Reference, Unreadable, renamed, rewrite
from registry.digests import canonical, digest, digest_of
from registry.messages import Json

_NTH = "#"
"""What stands before the number of a step that is the same as an earlier one."""

_NOT_THE_WORK = {
    "id",
    "kind",
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
    # What is inside has a digest of its own.
    "step",
    "plan",
}


def step_digests(plan: Draft, inputs: Mapping[str, Json]) -> dict[str, str]:
    """A content digest by step id, in plan order.

    It covers kind, task, question, hints, tools and arguments, conditions and checks, what maps and plans consist of, the
    values of the inputs that the step refers to, and the digests of its dependencies. Ids, limits and policies are not in it.
    Steps of one plan that are the same get `#2`, `#3`, ... in plan order, and what waits for one of them is the same as what
    waits for another. Steps that ask a person are never the same. `inputs` are those given to the run.
    """
    return _digests(plan, {name: digest(value) for name, value in plan.values(inputs).items()})


def twins(plan: Draft, inputs: Mapping[str, Json]) -> dict[str, str]:
    """The `fellows` of a plan before it is run, as far as they can be told: inputs without a value are like no others.

    Expects no circles.
    """
    asked = plan.inputs
    values = {name: digest(inputs.get(name, asked[name].default)) for name in asked if name in inputs or not asked[name].required}
    unknown = {name: digest(["input", name]) for name in asked}
    return fellows(_digests(plan, unknown | values))


def nested_digests(parent: str, plan: Draft, inputs: Mapping[str, Json]) -> dict[str, str]:
    """The digests of the steps of a plan that is the step of digest `parent`."""
    return {step_id: _within(parent, each) for step_id, each in step_digests(plan, inputs).items()}


def fellows(digests: Mapping[str, str]) -> dict[str, str]:
    """By step id, for those that do what an earlier one does: which that is. `digests` are those of a plan's steps.

    The items of a map are no fellows: every entry of a list is asked for by itself.
    """
    repeated = {step_id: each.partition(_NTH)[0] for step_id, each in digests.items() if _NTH in each}
    wanted = set(repeated.values())
    first = {each: step_id for step_id, each in digests.items() if each in wanted}
    return {step_id: first[work] for step_id, work in repeated.items()}


def item_digests(parent: str, items: Sequence[Json]) -> tuple[str, ...]:
    """The digests of what the map of digest `parent` does with its items. Equal items are told apart by their order."""
    return tuple(_numbered(digest([parent, item]) for item in items))


def _digests(plan: Draft, values: Mapping[str, str]) -> dict[str, str]:
    by_id = {step.id: step for step in plan.steps}
    found = dict.fromkeys(by_id, "")
    works: dict[str, str] = {}
    seen: dict[str, int] = {}
    for step_id in _in_turn(plan):
        work = _digest(by_id[step_id], works, values)
        nth = seen[work] = seen.get(work, 0) + 1
        if nth > 1 and _asks(by_id[step_id]):
            work, nth = digest([work, nth]), 1
        works[step_id] = work
        found[step_id] = work if nth == 1 else _nth(work, nth)
    return found


def _in_turn(plan: Draft) -> tuple[str, ...]:
    if isinstance(plan, Plan):  # whose edges are all written out
        return in_turn({step.id: step.depends_on for step in plan.steps})
    return order(graph(plan.steps))


def _asks(step: AnyStep) -> bool:
    """Whether the step is a question to a person, or has one in it: to ask two persons, or twice, may be meant."""
    if step.kind == "map":
        return _asks(step.step)
    if step.kind == "plan":
        return any(_asks(inner) for inner in step.plan.steps)
    return step.kind == "approval"


def _within(parent: str, own: str) -> str:
    work, _, nth = own.partition(_NTH)
    return _nth(digest([parent, work]), int(nth or 1))


def _nth(work: str, nth: int) -> str:
    return work if nth == 1 else f"{work}{_NTH}{nth}"


def _numbered(digests: Iterable[str]) -> Iterator[str]:
    seen = Counter[str]()
    for each in digests:
        seen[each] += 1
        yield _nth(each, seen[each])


def _digest(step: AnyStep, steps: Mapping[str, str], inputs: Mapping[str, str]) -> str:
    work, after = _work(step), [steps[dependency] for dependency in step.depends_on]
    written = canonical({"kind": step.kind, "work": work, "after": after})
    if b"${" not in written:
        return digest_of(written)

    def named(found: Reference | Unreadable) -> str:
        if isinstance(found, Unreadable) or found.source == "own":
            return found.text
        return renamed(found, (steps if found.source == "steps" else inputs)[found.name])

    return digest({"kind": step.kind, "work": rewrite(work, named), "after": after})


def _work(step: AnyStep) -> dict[str, Json]:
    # Without defaults, so that a field which is added to the language one day changes no digest of a run that is under way.
    usual = _defaults(type(step))
    work = {name: value for name in step.model_fields_set if name in usual and (value := getattr(step, name)) != usual[name]}
    if step.kind == "map":
        work["step"] = {"kind": step.step.kind, "work": _work(step.step)}
    elif step.kind == "plan":
        work["plan"] = _plan_digest(step.plan)
    elif step.kind != "approval" and step.verify is not None:
        work["verify"] = step.verify.model_dump(mode="json", exclude_defaults=True)
    return work


@cache
def _defaults(kind: type[BaseStep]) -> Mapping[str, Json]:
    """Of the fields that say what steps of the kind do. A field without a default has one that no value is equal to."""
    every = kind.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in every if name not in _NOT_THE_WORK}


def _plan_digest(plan: Draft) -> str:
    """Of all that a plan does, whatever it is given: that is told by the arguments of the step around it."""
    steps = _digests(plan, {name: digest(["input", name]) for name in plan.inputs})
    output = None if plan.output is None else rewrite(plan.output, lambda found: _named(found, steps))
    failing = [[step.policy, step.optional] for step in plan.steps]  # which decides what the plan as a whole comes to
    defaults = {name: asked.default for name, asked in plan.inputs.items()}
    return digest([plan.goal, list(steps.values()), failing, output, defaults])


def _named(found: Reference | Unreadable, steps: Mapping[str, str]) -> str:
    return renamed(found, steps[found.name]) if isinstance(found, Reference) else found.text
