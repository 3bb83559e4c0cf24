"""Warnings of what may go wrong in the world: two that write at once, effects that nobody looks at, models that can't."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import pairwise

from msgspec.structs import replace

from planner.check.known import Known
from planner.diagnostics import Diagnostic, pointer, warning
from planner.graph import Needs, in_turn
from planner.mentions import mentions
from planner.plan import AnyStep, Draft, Step, WorkStep
from planner.references import rendered
from registry.models.model import Abilities
from registry.tools.tool import ToolTraits

_SHOWN = 60
_SPEAKS_JSON = ("tool_call", "json_mode", "json_schema")


def writers(draft: Draft, known: Known, needs: Needs, same: Container[str]) -> Iterator[Diagnostic]:
    """P023: calls with the same destination, neither of which waits for the other. Of steps that are the `same` as an earlier one
    nothing is done."""
    written = {target: [step for step in steps if step not in same] for target, steps in _written(draft, known).items()}
    groups = {target: steps for target, steps in written.items() if len(steps) > 1}
    if not groups:
        return
    places = {step.id: index for index, step in enumerate(draft.steps)}
    position = {step: number for number, step in enumerate(in_turn(needs))}
    above = _above(needs, position)
    for target, steps in groups.items():
        steps.sort(key=position.__getitem__)
        for former, later in pairwise(steps):  # all wait for each other exactly if each waits for the one before it
            if not above[later] >> position[former] & 1:
                yield warning(
                    "P023",
                    pointer("steps", places[later]),
                    f"steps {former!r} and {later!r} may write to {target[:_SHOWN]!r} at the same time",
                    fix="let one depend on the other",
                )


def risky(draft: Draft, known: Known, needs: Needs) -> Iterator[Diagnostic]:
    """P024: steps that name a tool whose effect can't be repeated or goes out, without an approval before or a check after."""
    approved = _from([step.id for step in draft.steps if step.kind == "approval"], needs)
    for index, step in enumerate(draft.steps):
        if step.id not in approved and not _verified(step):
            for found in _unseen(step, known):
                yield replace(found, place=pointer("steps", index) + found.place)


def unable(draft: Draft, known: Known) -> Iterator[Diagnostic]:
    """P025: a hint for a model that can't call tools or write JSON, where the step asks for it."""
    for index, step in enumerate(draft.steps):
        if step.kind == "agent":
            for inside, hint in step.model_names():
                if hint in known.models and not inside.startswith("/verify"):
                    for message, fix in _lacking(step, hint, known.models[hint].abilities):
                        yield warning("P025", pointer("steps", index) + inside, message, fix=fix)


def _lacking(step: Step, hint: str, can: Abilities) -> Iterator[tuple[str, str]]:
    if (step.tools or step.tool_hint) and not can.get("tool_call"):
        fix = "name a model that has it; without it the tools are described in words"
        yield f"{hint!r} has no tool_call, and step {step.id!r} is to use tools", fix
    if step.output_schema is not None and not any(can.get(ability) for ability in _SPEAKS_JSON):
        lacking = f"{hint!r} has none of {', '.join(_SPEAKS_JSON)}, and step {step.id!r} has an output_schema"
        yield lacking, "name a model that has one of them"


def _unseen(step: AnyStep, known: Known) -> Iterator[Diagnostic]:
    """The risky tools of the step, with places relative to it; a plan within may have its own approvals."""
    if step.kind == "plan":
        inner = risky(step.plan, known, {each.id: mentions(each).needs for each in step.plan.steps})
        yield from (replace(found, place="/plan" + found.place) for found in inner)
        return
    for place, name in step.tool_names():
        if name in known.traits and _is_risky(known.traits[name]):
            message = f"what {name!r} does in step {step.id!r} may not be undone, and nobody looks at it"
            fix = "let an approval step come before it, or give the step a verify"
            yield warning("P024", place, message, fix=fix)


def _written(draft: Draft, known: Known) -> dict[str, list[str]]:
    """The steps that write, by where to."""
    found: dict[str, list[str]] = defaultdict(list)
    for step in draft.steps:
        if step.kind == "tool" and step.tool in known.traits:
            traits = known.traits[step.tool]
            targets = [step.args[name] for name in traits.destinations if name in step.args and traits.effect != "pure"]
            for target in dict.fromkeys(map(rendered, targets)):
                found[target].append(step.id)
    return found


def _above(needs: Needs, position: Mapping[str, int]) -> dict[str, int]:
    """What each step waits for, directly or not, as one bit for each position."""
    above: dict[str, int] = {}
    for step in position:
        found = 0
        for dependency in needs[step]:
            found |= above[dependency] | 1 << position[dependency]
        above[step] = found
    return above


def _from(steps: Iterable[str], needs: Needs) -> set[str]:
    """These steps and all that waits for any of them."""
    found = set(steps)
    for step in in_turn(needs) if found else ():
        if not found.isdisjoint(needs[step]):
            found.add(step)
    return found


def _is_risky(traits: ToolTraits) -> bool:
    if traits.effect == "pure" or traits.requires_approval or traits.answered_by_user:
        return False
    return traits.effect == "unkeyed" or bool(traits.destinations)


def _verified(step: AnyStep) -> bool:
    """Whether somebody or something looks at the result, of each item if the step is a map."""
    if step.kind == "map":
        return _verified(step.step)
    return isinstance(step, WorkStep) and step.verify is not None
