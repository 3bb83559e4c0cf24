"""Warnings of work that is done for nothing, or that nobody could take in."""

from collections.abc import Iterable, Iterator, Sequence

from planner.check.known import Known
from planner.diagnostics import Diagnostic, pointer, warning
from planner.graph import Needs, leading_to
from planner.mentions import Mentions
from planner.plan import AnyStep, ApprovalStep, Draft, MapStep, PlanStep, Step, ToolStep
from planner.references import only
from registry.tools.tool import ToolTraits

LEAST_TOKENS = 200
"""What a result must be given of a model's window so that it still says something."""

_GENERAL, _SYNTHESIS = "general", "synthesis"


def unused(draft: Draft, known: Known, needs: Needs) -> Iterator[Diagnostic]:
    """P020: steps without effects of their own that lead to nothing: not to the output, nor to a step with effects."""
    used = leading_to(needs, (step.id for step in draft.steps if _counts(step, draft, known)))
    for index, step in enumerate(draft.steps):
        if step.id not in used:
            what = "approval" if isinstance(step, ApprovalStep) else "result"
            yield warning(
                "P020",
                pointer("steps", index),
                f"nothing uses the {what} of step {step.id!r}",
                fix="let a step that needs it depend on it, or remove it",
            )


def serialising(draft: Draft, known: Known, said: Sequence[Mentions]) -> Iterator[Diagnostic]:
    """P021: a call of a pure tool waits for a step that it reads nothing of and that changes nothing."""
    idle = {step.id for step in draft.steps if step.kind != "approval" and not acts(step, known)}
    for index, step in enumerate(draft.steps):
        if step.kind != "tool" or step.id not in idle:
            continue
        for number, dependency in enumerate(step.depends_on):
            if dependency in idle and dependency not in said[index].read:
                yield warning(
                    "P021",
                    pointer("steps", index, "depends_on", number),
                    f"step {step.id!r} waits for {dependency!r} and reads nothing of it",
                    fix="remove the dependency, or refer to its result",
                )


def crowding(draft: Draft, known: Known) -> Iterator[Diagnostic]:
    """P022: so many results come together that the model's window can't hold a fair part of each."""
    for index, step in enumerate(draft.steps):
        if step.kind == "agent":
            yield from _crowd(pointer("steps", index), len(step.depends_on), step.model_hint or _GENERAL, known)
    if draft.output is None:
        yield from _crowd("/steps", len(draft.steps), _SYNTHESIS, known)


def acts(step: AnyStep, known: Known) -> bool:
    """Whether the step may change anything beyond its own result, as far as anybody said."""
    match step:
        case ToolStep(tool=tool):
            names: Iterable[str] = (tool,)
        case Step(tools=tools):
            names = known.tools if tools is None else tools
        case MapStep(step=inner):
            return acts(inner, known)
        case PlanStep(plan=plan):
            return any(acts(inner, known) for inner in plan.steps)
        case ApprovalStep():
            return False
    return any(name not in known.traits or _changes(known.traits[name]) for name in names)


def _changes(traits: ToolTraits) -> bool:
    return traits.effect != "pure" and not traits.answered_by_user


def _counts(step: AnyStep, draft: Draft, known: Known) -> bool:
    """Whether the step is wanted for itself, whatever follows it."""
    if draft.output is None:
        return step.kind != "approval"
    named = only(draft.output)
    return (named is not None and named.name == step.id) or acts(step, known)


def _crowd(place: str, results: int, hint: str, known: Known) -> Iterator[Diagnostic]:
    window = known.models[hint].context_window if hint in known.models else None
    if window is not None and results * LEAST_TOKENS > window - window // 4:
        yield warning(
            "P022",
            place,
            f"{results:,} results come together in a window of {window:,} tokens",
            fix="merge them in groups first, or name a model with a larger window",
        )
