"""Passes over what leads from step to step: dependencies, references, circles."""

import re
from collections.abc import Collection, Mapping

from planner.check.promises import Sources
from planner.check.schemas import Lacking
from planner.diagnostics import Diagnostic, repaired
from planner.graph import graph, knotted
from planner.mentions import mentions
from planner.references import Reference, Unreadable
from planner.repair.entries import Entries, Entry, Ground, Mended


def without_loose_edges(entries: Entries, ground: Ground) -> Mended:
    """No step depends on itself, or on a step that isn't there. Where that was split into several, it depends on all of them."""
    found: list[Diagnostic] = []
    ids = _ids(entries, ground)
    return tuple(_tied(entry, ids, found) for entry in entries), found


def without_loose_references(entries: Entries, ground: Ground) -> Mended:
    """What looks like a reference and leads nowhere becomes the plain text that it is."""
    found: list[Diagnostic] = []
    ids = _ids(entries, ground)
    return tuple(_spelt_out(entry, ids.keys() - {entry.step.id}, ground.base.inputs, found) for entry in entries), found


def without_unpromised(entries: Entries, ground: Ground) -> Mended:
    """A reference to a part that its step or input does not promise becomes one to all of it."""
    found: list[Diagnostic] = []
    source = Sources([*ground.base.steps, *(entry.step for entry in entries)], ground.base.inputs, ground.known)
    return tuple(_widened(entry, source, found) for entry in entries), found


def without_circles(entries: Entries, ground: Ground) -> Mended:
    """Where steps wait for each other in a circle, the edge goes that comes last in the plan and closes it."""
    found: list[Diagnostic] = []
    steps = [*ground.base.steps, *(entry.step for entry in entries)]
    knots = {step: knot for knot in knotted(graph(steps)) for step in knot}
    above = {step: {step} for step in knots}
    return tuple(_opened(entry, knots.get(entry.step.id, frozenset()), above, found) for entry in entries), found


def _ids(entries: Entries, ground: Ground) -> Mapping[str, None]:
    """Every id that there is, in plan order."""
    return dict.fromkeys((*(step.id for step in ground.base.steps), *(entry.step.id for entry in entries)))


def _tied(entry: Entry, ids: Collection[str], found: list[Diagnostic]) -> Entry:
    tied = []
    for number, dependency in enumerate(entry.step.depends_on):
        place = entry.place("depends_on", number)
        if dependency == entry.step.id:
            found.append(repaired("P004", place, f"step {dependency!r} depended on itself: dropped"))
        elif dependency not in ids:
            parts = [own for own in ids if _is_part(own, dependency) and own != entry.step.id]
            became = f"there is {', '.join(parts)}: it waits for all of these" if parts else "dropped"
            found.append(repaired("P005", place, f"no step named {dependency!r}: {became}"))
            tied.extend(parts)
        else:
            tied.append(dependency)
    return entry.changed(depends_on=tuple(dict.fromkeys(tied)))


def _is_part(step_id: str, whole: str) -> bool:
    """Whether the step is one of several that took another's place, by its name: `c3-1` and `c3_b` for `c3`."""
    return re.fullmatch(rf"{re.escape(whole)}[-_.](?:\d+|[a-z])", step_id) is not None


def _spelt_out(entry: Entry, ids: Collection[str], inputs: Collection[str], found: list[Diagnostic]) -> Entry:
    def written(reference: Reference | Unreadable) -> str:
        match reference:
            case Reference(source="steps", name=name) if name in ids:
                return reference.text
            case Reference(source="inputs", name=name) if name in inputs:
                return reference.text
        found.append(repaired("P010", entry.place(), f"{reference.text} leads nowhere: kept as plain text"))
        return "$" + reference.text

    return entry.rewritten(written)


def _widened(entry: Entry, source: Sources, found: list[Diagnostic]) -> Entry:
    def written(reference: Reference | Unreadable) -> str:
        if isinstance(reference, Unreadable) or not isinstance(source.promised(reference), Lacking):
            return reference.text
        whole = _whole(reference)
        found.append(repaired("P018", entry.place(), f"{reference.text} is not promised: taken as {whole}"))
        return whole

    return entry.rewritten(written)


def _whole(reference: Reference) -> str:
    return f"${{inputs.{reference.name}}}" if reference.source == "inputs" else f"${{steps.{reference.name}.output}}"


def _opened(entry: Entry, knot: Collection[str], above: dict[str, set[str]], found: list[Diagnostic]) -> Entry:
    """The entry without the edges that would close a circle with those taken so far. `above` holds what precedes each step."""
    own = entry.step.id
    cut = []
    for dependency in mentions(entry.step).needs:
        if dependency not in knot:
            continue
        if own in above[dependency]:
            cut.append(dependency)
        elif dependency not in above[own]:
            for step in knot:
                if own in above[step]:
                    above[step] |= above[dependency]
    return _without(entry, cut, found) if cut else entry


def _without(entry: Entry, cut: Collection[str], found: list[Diagnostic]) -> Entry:
    def written(reference: Reference | Unreadable) -> str:
        loose = isinstance(reference, Reference) and reference.source == "steps" and reference.name in cut
        return "$" + reference.text if loose else reference.text

    for dependency in cut:
        message = f"{entry.step.id!r} and {dependency!r} waited for each other: {entry.step.id!r} no longer waits"
        found.append(repaired("P006", entry.place("depends_on"), message))
    edges = tuple(dependency for dependency in entry.step.depends_on if dependency not in cut)
    return entry.changed(depends_on=edges).rewritten(written)
