"""What a step's agent is given: its question, and what of the results before it does not fit into that."""

from collections.abc import Mapping

from msgspec import Struct

from orchestrator.outputs import schema_request
from orchestrator.prompts import step_task
from orchestrator.sight import Sight
from orchestrator.summarising import Summariser
from orchestrator.trying import Tries
from planner import Step
from planner.references import quoted
from planner.results import NO_USAGE, Failed, Results, Skipped, StepResult, Succeeded, is_untaken
from registry.context import fit_texts
from registry.origins import Origins, joined
from registry.usage import Usage


class Brief(Struct, frozen=True, kw_only=True):
    """The question, its origins, and the whole of those results that it shows a part of only, by step.

    `usage` is what it cost to tell those in short, and `waited` the seconds that this queued.
    """

    question: str
    origins: Origins
    shortened: Mapping[str, str]
    usage: Usage = NO_USAGE
    waited: float = 0.0


async def briefed(step: Step, sight: Sight, tries: Tries, *, window: int | None, summariser: Summariser | None = None) -> Brief:
    """The brief of the step for a model with this window, in tokens, with what the tries before have to tell.

    Each result is fitted to its share of the window: `summariser` tells it in short, and what it can't tell is cut. What the
    task quotes is not said twice. Raises `BrokenReference`.
    """
    task = sight.worded(step.task)
    shown = quoted(step)
    names = [name for name in step.depends_on if name not in shown and not is_untaken(sight.results[name])]
    texts = [_text(sight.results[name]) for name in names]
    fitted = texts if window is None else fit_texts(texts, window // 2)
    usage, waited = NO_USAGE, 0.0
    for at, (name, text) in enumerate(zip(names, texts, strict=True)):
        if summariser is not None and fitted[at] != text:
            origins = _origins(sight.results, name)
            told = await summariser.shorten(text, fitted[at], aim=task.value, origins=origins, call=sight.call)
            fitted[at], usage, waited = told.text, usage + told.usage, waited + told.waited
            summariser = None if told.absent else summariser
    parts = [step_task(task.value, zip(names, fitted, strict=True), tool_hint=step.tool_hint)]
    parts += [schema_request(step.output_schema)] if step.output_schema is not None else []
    parts += [tries.told] if tries.told else []
    return Brief(
        question="\n\n".join(parts),
        origins=joined(task.origins, tries.origins, *(_origins(sight.results, name) for name in step.depends_on)),
        shortened={name: text for name, text, part in zip(names, texts, fitted, strict=True) if text != part},
        usage=usage,
        waited=waited,
    )


def _text(result: StepResult) -> str:
    match result:
        case Succeeded(output=output):
            return output
        case Failed(message=message):
            return f"(no result: {message})"
        case Skipped(reason=reason):
            return f"(no result: {reason})"


def _origins(results: Results, dependency: str) -> Origins:
    result = results[dependency]
    return result.origins if isinstance(result, Succeeded | Failed) else ()
