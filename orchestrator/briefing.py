"""What a step's agent is given: its question, and what of the results before it does not fit into that."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.outputs import schema_request
from orchestrator.prompts import step_task
from orchestrator.sight import Sight
from orchestrator.trying import Tries
from planner import Step
from planner.references import quoted
from planner.results import Failed, Results, Skipped, StepResult, Succeeded
from registry.context import fit_texts
from registry.origins import Origins, joined


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The question, its origins, and the whole of those results that it shows a part of only, by step."""

    question: str
    origins: Origins
    shortened: Mapping[str, str]


def briefed(step: Step, sight: Sight, tries: Tries, *, window: int | None) -> Brief:
    """The brief of the step for a model with this window, in tokens, with what the tries before have to tell.

    Each result is fitted to its share of the window; what the task quotes is not said twice. Raises `BrokenReference`.
    """
    task = sight.resolved(step.task)
    shown = quoted(step)
    names = [name for name in step.depends_on if name not in shown and not _is_untaken(sight.results[name])]
    texts = [_text(sight.results[name]) for name in names]
    fitted = texts if window is None else fit_texts(texts, window // 2)
    parts = [step_task(task.value, zip(names, fitted, strict=True), tool_hint=step.tool_hint)]
    parts += [schema_request(step.output_schema)] if step.output_schema is not None else []
    parts += [tries.told] if tries.told else []
    return Brief(
        question="\n\n".join(parts),
        origins=joined(task.origins, tries.origins, *(_origins(sight.results, name) for name in step.depends_on)),
        shortened={name: text for name, text, part in zip(names, texts, fitted, strict=True) if text != part},
    )


def _text(result: StepResult) -> str:
    match result:
        case Succeeded(output=output):
            return output
        case Failed(message=message):
            return f"(no result: {message})"
        case Skipped(reason=reason):
            return f"(no result: {reason})"


def _is_untaken(result: StepResult) -> bool:
    return isinstance(result, Skipped) and result.untaken


def _origins(results: Results, dependency: str) -> Origins:
    result = results[dependency]
    return result.origins if isinstance(result, Succeeded | Failed) else ()
