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
from planner.results import NO_USAGE, Failed, Skipped, StepResult, Succeeded, is_untaken
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
    before = {name: sight.results[name] for name in step.depends_on}
    texts = {name: _text(result) for name, result in before.items() if name not in shown and not is_untaken(result)}
    fitted = texts if window is None else dict(zip(texts, fit_texts([*texts.values()], window // 2), strict=True))
    shortened = {name: text for name, text in texts.items() if fitted[name] != text}
    usage, waited = NO_USAGE, 0.0
    for name, text in shortened.items():
        if summariser is not None:
            origins = _origins(before[name])
            short = await summariser.shorten(text, fitted[name], aim=task.value, origins=origins, call=sight.call)
            fitted[name], usage, waited = short.text, usage + short.usage, waited + short.waited
            summariser = None if short.absent else summariser
    parts = [step_task(task.value, fitted.items(), tool_hint=step.tool_hint)]
    if step.output_schema is not None:
        parts.append(schema_request(step.output_schema))
    told = tries.told
    if told:
        parts.append(told)
    return Brief(
        question="\n\n".join(parts),
        origins=joined(task.origins, tries.origins, *map(_origins, before.values())),
        shortened=shortened,
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


def _origins(result: StepResult) -> Origins:
    match result:
        case Succeeded(origins=origins) | Failed(origins=origins):
            return origins
        case Skipped():
            return ()
