"""The checks that need nothing but the plan itself. All findings are gathered, never only the first."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from planner.diagnostics import Diagnostic, error, pointer
from planner.graph import circles, graph, stand_in_turn
from planner.mentions import Mentions, mentions
from planner.references import HOW, OF_A_RESULT, OF_AN_ITEM, Reference, Unreadable, only
from planner.shapes import DraftShape
from registry.errors import there_are

ID = re.compile(r"[\w-]{1,64}")
_NAMES_LISTED = 30
_NAMES_HINTED = 20
_CIRCLE_SHOWN = 12
_ID_SHOWN = 80


def structural_errors(draft: DraftShape, said: Sequence[Mentions] | None = None) -> tuple[Diagnostic, ...]:
    """Every error of the plan's own making, in a fixed order; none means that a `Plan` can be built of it.

    `said` is what each step mentions, where that has been read already.
    """
    said = [mentions(step) for step in draft.steps] if said is None else said
    first: dict[str, int] = {}
    for index, step in enumerate(draft.steps):
        first.setdefault(step.id, index)
    return tuple(
        chain(
            _of_the_whole(draft),
            _of_ids(draft, first),
            _of_steps(draft),
            _of_dependencies(draft, first),
            _of_references(draft, said, first),
            _of_output(draft, first),
            _of_circles(draft, said, first),
        )
    )


def nearest(wanted: str, known: Collection[str]) -> str:
    """The tail of a 'no such name' sentence, kept short in a plan of thousands of steps."""
    if len(known) <= _NAMES_LISTED:
        return there_are(wanted, known)
    from difflib import get_close_matches

    near = get_close_matches(wanted, known, n=1)
    return (f"did you mean {near[0]!r}? " if near else "") + f"there are {len(known)} others"


def _of_the_whole(draft: DraftShape) -> Iterator[Diagnostic]:
    if not draft.goal.strip():
        yield error("P013", "/goal", "the plan has no goal", fix="say in one sentence what it is for")
    if not draft.steps:
        yield error("P001", "/steps", "the plan has no steps", fix="add at least one")


def _of_ids(draft: DraftShape, first: Mapping[str, int]) -> Iterator[Diagnostic]:
    for index, step in enumerate(draft.steps):
        if not ID.fullmatch(step.id):
            fix = "use 1 to 64 letters, digits, '_' and '-'"
            yield error("P002", pointer("steps", index, "id"), f"{step.id[:_ID_SHOWN]!r} can't be a step's id", fix=fix)
        if first[step.id] != index:
            place, earlier = pointer("steps", index, "id"), pointer("steps", first[step.id])
            yield error("P003", place, f"the id {step.id[:_ID_SHOWN]!r} is that of {earlier} already", fix="rename one")


def _of_steps(draft: DraftShape) -> Iterator[Diagnostic]:
    for index, step in enumerate(draft.steps):
        for fault in step.faults():
            yield replace(fault, place=pointer("steps", index) + fault.place)


def _of_dependencies(draft: DraftShape, first: Mapping[str, int]) -> Iterator[Diagnostic]:
    hinted = 0
    for index, step in enumerate(draft.steps):
        for number, dependency in enumerate(step.depends_on):
            if dependency != step.id and dependency in first:
                continue
            place = pointer("steps", index, "depends_on", number)
            if dependency == step.id:
                yield error("P004", place, f"step {step.id!r} depends on itself", fix="remove it")
            else:
                tail = f"; {nearest(dependency, first)}" if hinted < _NAMES_HINTED else ""
                hinted += 1
                yield error("P005", place, f"no step named {dependency[:_ID_SHOWN]!r}{tail}")


def _of_references(draft: DraftShape, said: Sequence[Mentions], first: Mapping[str, int]) -> Iterator[Diagnostic]:
    hinted = 0
    for index, step in enumerate(draft.steps):
        for inside, found in said[index].found:
            why = _misplaced(found, inside) or _wrong(found, step.id, first, draft.inputs, hinted < _NAMES_HINTED)
            if why:
                hinted += 1
                yield error("P010", pointer("steps", index) + inside + found.place, why, fix=HOW)


def _misplaced(found: Reference | Unreadable, inside: str) -> str | None:
    """What a step's own place gives it is there in that place only."""
    match found:
        case Reference(source="own", name=name) if name in OF_AN_ITEM and not inside.startswith("/step/"):
            return f"{found.text} stands for something in the step of a map only"
        case Reference(source="own", name=name) if name in OF_A_RESULT and "/verify/" not in inside:
            return f"{found.text} stands for something in the check of a step only"
    return None


def _wrong(
    found: Reference | Unreadable, own: str, steps: Mapping[str, int], inputs: Mapping[str, object], hint: bool
) -> str | None:
    match found:
        case Unreadable(text=text):
            return f"{text[:_ID_SHOWN]!r} is not a reference"
        case Reference(source="steps", name=name) if name == own:
            return f"step {own!r} refers to itself"
        case Reference(source="steps", name=name) if name not in steps:
            return f"{found.text} names no step" + (f"; {nearest(name, steps)}" if hint else "")
        case Reference(source="inputs", name=name) if name not in inputs:
            return f"{found.text} names no input" + (f"; {nearest(name, inputs)}" if hint else "")
    return None


def _of_output(draft: DraftShape, first: Mapping[str, int]) -> Iterator[Diagnostic]:
    if draft.output is None:
        return
    reference = only(draft.output)
    if reference is None or reference.source != "steps":
        message = f"the output {draft.output[:_ID_SHOWN]!r} is not a reference to one step"
        yield error("P010", "/output", message, fix="write ${steps.ID.output}")
    elif reference.name not in first:
        yield error("P010", "/output", f"{reference.text} names no step; {nearest(reference.name, first)}")


def _of_circles(draft: DraftShape, said: Sequence[Mentions], first: Mapping[str, int]) -> Iterator[Diagnostic]:
    if stand_in_turn((step.id, each.needs) for step, each in zip(draft.steps, said, strict=True)):
        return
    for circle in circles(graph(draft.steps)):
        shown = " -> ".join(circle)
        if len(circle) > _CIRCLE_SHOWN:
            half = _CIRCLE_SHOWN // 2
            shown = " -> ".join((*circle[:half], f"({len(circle) - 2 * half} more)", *circle[-half:]))
        message = f"each waits for the next: {shown}"
        yield error("P006", pointer("steps", first[circle[0]], "depends_on"), message, fix="remove one of these dependencies")
