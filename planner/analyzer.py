"""Is the goal met? One judge that asks a model, and one that only counts."""

from collections.abc import Sequence

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field

from planner.plan import Plan
from planner.prompts import ending, judging
from planner.results import NO_USAGE, Achieved, Missing, Results, StepResult, Succeeded, Verdict, is_untaken
from registry.calls import Call
from registry.errors import NoTypedAnswer
from registry.models.model import Model
from registry.structured import structured_llm_call
from registry.usage import Usage


class VerdictAnswer(BaseModel):
    """What the judge is asked for. Only `achieved` can't be done without."""

    model_config = ConfigDict(
        json_schema_extra={"required": ["reasoning", "achieved", "confidence", "missing", "final_answer"]},
        defer_build=True,
    )

    reasoning: str = ""
    achieved: bool
    confidence: float = Field(default=0.5, ge=0, le=1)
    missing: tuple[str, ...] = ()
    final_answer: str = ""


class Judged(Struct, frozen=True, kw_only=True):
    """A verdict and what it cost."""

    verdict: Verdict
    usage: Usage = NO_USAGE


class PlanAnalyzer:
    """Judges with one structured call to `model`."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def judge(self, goal: str, plan: Plan, results: Results, call: Call, *, said: Sequence[str] = ()) -> Judged:
        """Whether the results meet the goal, and what the user `said` since. Where no step succeeded, no model is asked.

        A judge whose answer can't be read has not found the goal met: that is Missing, with a confidence of 0. Raises any
        `ModelError` of an outage, which is an error and not a verdict.
        """
        if not any(isinstance(result, Succeeded) for result in results.values()):
            return Judged(verdict=Missing(reasoning="no step succeeded", missing=_unfinished(plan, results)))
        question = judging(goal, plan, results, window=self._model.context_window, said=said)
        try:
            answer = await structured_llm_call(self._model, question, VerdictAnswer, call, name="verdict")
        except NoTypedAnswer as unreadable:
            missing = (*_unfinished(plan, results), "a verdict that can be read")
            return Judged(verdict=Missing(reasoning=str(unreadable), missing=missing, confidence=0.0), usage=unreadable.usage)
        return Judged(verdict=_verdict(answer.value), usage=answer.usage)


def structural_verdict(plan: Plan, results: Results) -> Verdict:
    """The verdict that needs no model: achieved when every step succeeded that the plan can't do without, and at least one."""
    unfinished = _unfinished(plan, results)
    if not any(isinstance(result, Succeeded) for result in results.values()):
        return Missing(reasoning="no step succeeded", missing=unfinished)
    if not unfinished:
        return Achieved(reasoning="every step succeeded")
    return Missing(reasoning=f"{len(unfinished)} of {len(plan.steps)} steps did not succeed", missing=unfinished)


def _unfinished(plan: Plan, results: Results) -> tuple[str, ...]:
    endings = [(step, results.get(step.id)) for step in plan.steps]
    return tuple(f"{step.id} {ending(result)[0]}" for step, result in endings if not step.optional and not _settles(result))


def _settles(result: StepResult | None) -> bool:
    return isinstance(result, Succeeded) or is_untaken(result)


def _verdict(answer: VerdictAnswer) -> Verdict:
    if answer.achieved:
        return Achieved(reasoning=answer.reasoning, confidence=answer.confidence, final_answer=answer.final_answer)
    missing = tuple(item for item in answer.missing if item.strip()) or (answer.reasoning or "the judge did not say what",)
    return Missing(reasoning=answer.reasoning, missing=missing, confidence=answer.confidence, final_answer=answer.final_answer)
