"""Steps that consist of others: what a map or a plan is made of when its turn comes, and what its parts add up to."""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from orchestrator.errors import NothingToMap, PartsFailed
from orchestrator.frontier import Part
from orchestrator.sight import Inside, Sight
from planner import Draft, MapStep, Plan, PlanStep
from planner.analyzer import structural_verdict
from planner.graph import graph
from planner.identity import fellows, item_digests, nested_digests
from planner.references import Own, Resolved, forgiven, only, rendered
from planner.results import NO_USAGE, Failed, Missing, Results, Skipped, StepResult, Succeeded
from registry.messages import Json
from registry.origins import TRUSTED, Origins, joined
from registry.usage import Usage

MOST_ITEMS = 10_000
"""Items of one map."""


class Opened(Struct, frozen=True, kw_only=True):
    """A part, what it may see, the digest of its content, and the earlier part that does the same, empty where none does."""

    part: Part
    sight: Sight
    digest: str
    fellow: str = ""


def parts_of(step: MapStep | PlanStep, sight: Sight, digest: str) -> tuple[Opened, ...]:
    """What the step of this digest consists of. Raises `NothingToMap` and `BrokenReference`."""
    match step:
        case MapStep():
            return tuple(_items(step, sight, digest))
        case PlanStep():
            return tuple(_steps(step, sight, digest))
        case _:
            assert_never(step)


def gathered(step: MapStep | PlanStep, sight: Sight, ends: Sequence[StepResult]) -> StepResult:
    """The step's own end, when all that it consists of have ended. It takes no time beside theirs. Raises `BrokenReference`."""
    match step:
        case MapStep():
            return _list(step, ends)
        case PlanStep():
            return _merged(step, sight, ends)
        case _:
            assert_never(step)


def _items(step: MapStep, sight: Sight, digest: str) -> Iterator[Opened]:
    over = _over(step, sight)
    if not isinstance(over.value, list | tuple):
        what = f"{rendered(over.value)[:80]!r}; the data of a step is a list where its output_schema says so"
        raise NothingToMap(what, origins=over.origins)
    if len(over.value) > MOST_ITEMS:
        raise NothingToMap(f"one of {len(over.value):,} items; it may have {MOST_ITEMS:,}")
    origins = joined(over.origins, sight.own.origins)
    for place, (item, own) in enumerate(zip(over.value, item_digests(digest, over.value), strict=True)):
        named = step.step.model_copy(update={"id": f"{step.id}[{place}]"})
        here = replace(sight.own, values={"item": item, "index": place}, origins=origins)
        yield Opened(part=Part(named), sight=replace(sight, own=here), digest=own)


def _over(step: MapStep, sight: Sight) -> Resolved:
    reference = only(step.over) if isinstance(step.over, str) else None
    return sight.resolved(step.over) if reference is None else sight.look(reference)


def _steps(step: PlanStep, sight: Sight, digest: str) -> Iterator[Opened]:
    plan = _built(step)
    plan = Draft.model_copy(plan, update={"limits": plan.limits.within(sight.plan.limits)})  # which needs no check
    given = sight.resolved(step.args)
    prefix = f"{step.id}/"
    inside = Sight(
        plan=plan,
        inputs=plan.values(given.value),
        results=Inside(sight.results, prefix, tuple(each.id for each in plan.steps)),
        own=Own(values={}, inputs=joined(given.origins, sight.own.inputs)),
    )
    digests = nested_digests(digest, plan, given.value)
    same = {twin: prefix + first for twin, first in fellows(digests).items()}
    for each in plan.steps:
        part = Part(
            each.model_copy(update={"id": prefix + each.id}),
            tuple(prefix + need for need in each.depends_on),
            frozenset(prefix + name for name in forgiven(each.when)),
        )
        fellow = same.get(each.id, "")
        yield Opened(part=part.after(fellow), sight=inside, digest=digests[each.id], fellow=fellow)


def _built(step: PlanStep) -> Plan:
    return step.plan if isinstance(step.plan, Plan) else Plan.of(step.plan)


def _list(step: MapStep, ends: Sequence[StepResult]) -> StepResult:
    bad = [end for end in ends if isinstance(end, Failed) or (isinstance(end, Skipped) and not end.untaken)]
    kept = [_kept(end) for end in ends if isinstance(end, Succeeded) or (step.on_item_failure == "collect" and end in bad)]
    if bad and (step.on_item_failure == "fail" or (step.on_item_failure == "skip" and len(bad) == len(ends))):
        told = f"{len(bad)} of {len(ends)} items failed; {bad[0].step}: {_why(bad[0])}"
        return _failed(step, PartsFailed(told), ends, output=rendered(kept) if kept else "")
    return _succeeded(step, rendered(kept), kept, ends)


def _kept(end: StepResult) -> Json:
    if isinstance(end, Succeeded):
        return _value(end)
    return {"error": end.error if isinstance(end, Failed) else "Skipped", "message": _why(end)}


def _merged(step: PlanStep, sight: Sight, ends: Sequence[StepResult]) -> StepResult:
    plan = _built(step)
    results = dict(zip((each.id for each in plan.steps), ends, strict=True))
    verdict = structural_verdict(plan, results)
    output, data = _outcome(plan, replace(sight, results=results, own=Own(values={})))
    if isinstance(verdict, Missing):
        return _failed(step, PartsFailed("; ".join(verdict.missing) or verdict.reasoning), ends, output=output)
    return _succeeded(step, output, data, ends)


def _outcome(plan: Plan, sight: Sight) -> tuple[str, Json]:
    """What the plan's output refers to; where that was not done, or there is none, what its last steps gave."""
    reference = None if plan.output is None else only(plan.output)
    if reference is not None and isinstance(sight.results.get(reference.name), Succeeded):
        found = sight.look(reference).value
        return rendered(found), None if isinstance(found, str) else found
    last = _last(plan, sight.results)
    if len(last) == 1:
        (end,) = last.values()
        return end.output, end.data
    return "\n\n".join(f"## {name}\n{end.output}" for name, end in last.items()), {
        name: _value(end) for name, end in last.items()
    }


def _last(plan: Plan, results: Results) -> Mapping[str, Succeeded]:
    edges = graph(plan.steps)
    done = {name: end for name, end in results.items() if isinstance(end, Succeeded)}
    return {name: end for name, end in done.items() if not any(after in done for after in edges.succ[name])}


def _value(end: Succeeded) -> Json:
    return end.output if end.data is None else end.data


def _why(end: StepResult) -> str:
    return end.message if isinstance(end, Failed) else end.reason if isinstance(end, Skipped) else ""


def _succeeded(step: MapStep | PlanStep, output: str, data: Json, ends: Sequence[StepResult]) -> Succeeded:
    return Succeeded(step=step.id, output=output, data=data, usage=_usage(ends), origins=_origins(ends))


def _failed(step: MapStep | PlanStep, error: PartsFailed, ends: Sequence[StepResult], *, output: str) -> Failed:
    name = type(error).__name__
    return Failed(step=step.id, error=name, message=str(error), output=output, usage=_usage(ends), origins=_origins(ends))


def _usage(ends: Sequence[StepResult]) -> Usage:
    return sum((end.usage for end in ends if not isinstance(end, Skipped)), NO_USAGE)


def _origins(ends: Sequence[StepResult]) -> Origins:
    return joined(*(TRUSTED if isinstance(end, Skipped) else end.origins for end in ends))
