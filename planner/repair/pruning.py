"""Passes that take away what can't be done, what is done twice, and what is too much."""

from collections.abc import Mapping, Sequence

from planner.diagnostics import Diagnostic, repaired
from planner.graph import graph, order
from planner.plan import AnyStep, Step, ToolStep
from planner.references import Reference, Unreadable, renamed
from planner.repair.entries import Entries, Entry, Ground, Mended
from registry.digests import digest


def with_known_names(entries: Entries, ground: Ground) -> Mended:
    """Only tools and models that the run has. A tool step without its tool becomes an agent's step."""
    found: list[Diagnostic] = []
    return tuple(_offered(entry, ground, found) for entry in entries), found


def without_empty(entries: Entries, _: Ground) -> Mended:
    """An agent's step without a task goes; what waited for it waits for its dependencies instead."""
    empty = {entry.step.id: entry for entry in entries if isinstance(entry.step, Step) and not entry.step.task.strip()}
    found = [repaired("P007", entry.place(), f"dropped: step {step_id!r} has no task") for step_id, entry in empty.items()]
    edges = {step_id: entry.step.depends_on for step_id, entry in empty.items()}
    kept = (entry for entry in entries if entry.step.id not in empty)
    return tuple(entry.changed(depends_on=_bridged(entry.step.depends_on, edges)) for entry in kept), found


def without_twins(entries: Entries, ground: Ground) -> Mended:
    """Of agents' steps that are the same but for their ids the first stays. Expects no circles."""
    twins = _twins([*ground.base.steps, *(entry.step for entry in entries)], {step.id for step in ground.base.steps})
    found = [
        repaired("P017", entry.place(), f"dropped: step {entry.step.id!r} is the same as {twins[entry.step.id]!r}")
        for entry in entries
        if entry.step.id in twins
    ]
    return tuple(_redirected(entry, twins) for entry in entries if entry.step.id not in twins), found


def without_surplus(entries: Entries, ground: Ground) -> Mended:
    """As many steps as there may be, and with each all that it depends on. Expects no circles."""
    if ground.most is None or len(entries) <= ground.most:
        return entries, []
    ours = {entry.step.id for entry in entries}
    ordered = order(graph([*ground.base.steps, *(entry.step for entry in entries)]))
    kept = set([step_id for step_id in ordered if step_id in ours][: ground.most])
    found = [
        repaired("P016", entry.place(), f"dropped: step {entry.step.id!r} is beyond the {ground.most} there may be")
        for entry in entries
        if entry.step.id not in kept
    ]
    return tuple(entry for entry in entries if entry.step.id in kept), found


def _offered(entry: Entry, ground: Ground, found: list[Diagnostic]) -> Entry:
    step = entry.step
    unknown = [(place, name) for place, name in step.tool_names() if name not in ground.known.tools]
    found.extend(repaired("P008", entry.place() + place, f"no tool named {name!r}: dropped") for place, name in unknown)
    if isinstance(step, ToolStep):
        return Entry(at=entry.at, step=_agents(step)) if unknown else entry
    if not isinstance(step, Step):
        return entry
    loose = {name for _, name in unknown}
    stranger = step.model_hint is not None and step.model_hint not in ground.known.hints
    if stranger:
        message = f"no model or role named {step.model_hint!r}: dropped"
        found.append(repaired("P009", entry.place("model_hint"), message))
    return entry.changed(
        tool_hint=None if step.tool_hint in loose else step.tool_hint,
        tools=None if step.tools is None else tuple(tool for tool in step.tools if tool not in loose),
        model_hint=None if stranger else step.model_hint,
    )


def _agents(step: ToolStep) -> Step:
    kept = {"id", "task", "depends_on", "timeout", "on_failure", "optional", "in_doubt"}
    return Step(**step.model_dump(include=kept))


def _bridged(edges: Sequence[str], gone: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The edges, with those to steps that are gone led on to where these led."""
    found: dict[str, None] = {}
    crossed: set[str] = set()
    ahead = list(reversed(edges))
    while ahead:
        dependency = ahead.pop()
        if dependency not in gone:
            found[dependency] = None
        elif dependency not in crossed:
            crossed.add(dependency)
            ahead.extend(reversed(gone[dependency]))
    return tuple(found)


def _twins(steps: list[AnyStep], fixed: set[str]) -> dict[str, str]:
    """Which step does the same as an earlier one. A step that only repeats the one it waits for does the same as that."""
    by_id = {step.id: step for step in steps}
    edges = graph(steps)
    twins: dict[str, str] = {}
    first: dict[tuple[object, frozenset[str]], str] = {}
    for step_id in order(edges):
        work = _work(by_id[step_id])
        needs = dict.fromkeys(twins.get(dependency, dependency) for dependency in edges.predecessors(step_id))
        alike = [frozenset(needs)]
        alike += [alike[0] - {dependency} for dependency in needs if _work(by_id[dependency]) == work]
        twin = next((first[work, edge] for edge in alike if (work, edge) in first), None)
        if twin is None or step_id in fixed:
            first.setdefault((work, alike[0]), step_id)
        else:
            twins[step_id] = twin
    return twins


def _work(step: AnyStep) -> tuple[object, ...]:
    """What makes steps the same. Only agents' steps are dropped for that: of calls the checker tells that they are made once."""
    if not isinstance(step, Step):
        return (step.kind, step.id)
    rest = step.model_dump(mode="json", exclude={"id", "task", "depends_on"}, exclude_defaults=True)
    return ("agent", " ".join(step.task.split()).casefold(), digest(rest))


def _redirected(entry: Entry, twins: Mapping[str, str]) -> Entry:
    def written(reference: Reference | Unreadable) -> str:
        if isinstance(reference, Unreadable) or reference.source != "steps":
            return reference.text
        return renamed(reference, twins.get(reference.name, reference.name))

    edges = tuple(dict.fromkeys(twins.get(dependency, dependency) for dependency in entry.step.depends_on))
    return entry.changed(depends_on=edges).rewritten(written)
