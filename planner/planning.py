"""From a goal to a plan, and from what came of it to the next one."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, TypeAdapter, WithJsonSchema

from planner.check import Known, check
from planner.diagnostics import Diagnostic, error
from planner.errors import PlanError
from planner.graph import leading_to
from planner.plan import Draft, Plan
from planner.prompts import correcting, cut_short, means_of, origins_of, planning, revising
from planner.repair import repair
from planner.results import NO_USAGE, Results, Succeeded, Verdict
from registry.calls import Call
from registry.context import estimate_tokens
from registry.errors import ModelError, NoTypedAnswer
from registry.messages import Json, Message, ToolSpec
from registry.models.model import Model
from registry.origins import Origins, joined
from registry.structured import StructuredCallResult, structured_llm_call
from registry.usage import Usage

MAX_STEPS = 12
"""Steps that one answer of the model may add."""
MOST_SUMMARY = 1_000
"""Tokens that a summary of what was found may take of the question for a revised plan, and an eighth of the window at most."""

_ANSWERS = 2

_LONGEST_ID = 40
_LONGEST_TASK = 600


class PlanAnswer(BaseModel):
    """What the model is asked for. `answer_schema` is strict, the reading is not: `repair` makes the best of what comes."""

    model_config = ConfigDict(defer_build=True)

    steps: list[Json]


def answer_schema(known: Known) -> dict[str, Json]:
    """What the model is told, and an endpoint may enforce: hints are names that there are, and nothing goes on for ever."""
    name = {"type": "string", "maxLength": _LONGEST_ID}
    properties: dict[str, Json] = {
        "id": {**name, "description": "a short name"},
        "task": {"type": "string", "maxLength": _LONGEST_TASK, "description": "what to do, in full"},
        "depends_on": {"type": "array", "items": name, "maxItems": MAX_STEPS, "description": "ids of the steps it needs"},
    }
    for hint, names in (("tool_hint", known.tools), ("model_hint", known.hints)):
        if names:
            properties[hint] = {"type": "string", "enum": sorted(names)}
    step = {"type": "object", "properties": properties, "required": ["id", "task", "depends_on"], "additionalProperties": False}
    steps = {"type": "array", "minItems": 1, "maxItems": MAX_STEPS, "items": step}
    return {"type": "object", "properties": {"steps": steps}, "required": ["steps"], "additionalProperties": False}


class Planned(Struct, frozen=True, kw_only=True):
    """A plan that can run, what had to be mended for it, and what the model spent."""

    plan: Plan
    diagnostics: tuple[Diagnostic, ...] = ()
    usage: Usage = NO_USAGE


class Found(NamedTuple):
    """What a step found, and where that comes from."""

    step: str
    text: str
    origins: Origins


class Condensed(Struct, frozen=True, kw_only=True):
    """What steps found, told in short, and what that cost. Empty where nobody could tell it."""

    text: str
    usage: Usage


Condense = Callable[[Sequence[Found], str, int, Call], Awaitable[Condensed]]
"""Tells in short what was found, for the goal that it is to serve, in so many tokens at most. Never raises a `ModelError`."""


class DAGPlanner:
    """Plans with one structured call to `model`, and one more when the answer is beyond repair.

    Where it revises and can't read all that was found, it has what was cut told in short by `condense`, if there is one.
    """

    def __init__(self, model: Model, condense: Condense | None = None) -> None:
        self._model, self._condense = model, condense

    async def plan(self, goal: str, *, today: str, tools: Sequence[ToolSpec], hints: Sequence[str], call: Call) -> Planned:
        """A plan for the goal.

        `today` is the date as the model is to read it, empty for none. `hints` are the roles and models that a step may ask for.
        Raises `PlanError` when the model gives no usable plan, and any `ModelError` of an outage.
        """
        base = Draft(goal=goal)
        if not goal.strip():
            raise PlanError(tuple(found for found in check(base, Known()) if found.code == "P013"))
        return await self._drafted(planning(goal, today=today, tools=tools, hints=hints), base, _known(tools, hints), call)

    async def revise(
        self,
        plan: Plan,
        results: Results,
        verdict: Verdict,
        *,
        today: str,
        tools: Sequence[ToolSpec],
        hints: Sequence[str],
        call: Call,
        said: Sequence[str] = (),
    ) -> Planned:
        """The next plan after one that did not meet its goal, or what the user `said` since: what succeeded, unchanged, and new
        steps behind it.

        Raises `PlanError` when the model adds no usable step, and any `ModelError` of an outage.
        """
        short = await self._in_short(plan, results, call)
        means = means_of(today, tools, hints)
        window = self._model.context_window
        question = revising(plan, results, verdict, means=means, window=window, summary=short.text, said=said)
        return await self._drafted(question, kept(plan, results), _known(tools, hints), call, usage=short.usage)

    async def _in_short(self, plan: Plan, results: Results, call: Call) -> Condensed:
        """What the steps found that the question can't show in full; empty where it can, or what is told does not fit."""
        window = self._model.context_window
        found = [Found(step, text, origins_of({step: results[step]})) for step, text in cut_short(plan, results, window)]
        if not found or self._condense is None:
            return Condensed(text="", usage=NO_USAGE)
        most = MOST_SUMMARY if window is None else min(MOST_SUMMARY, window // 8)
        short = await self._condense(found, plan.goal, most, call)
        return short if estimate_tokens(short.text) <= most else replace(short, text="")

    async def _drafted(
        self, question: tuple[Message, ...], base: Draft, known: Known, call: Call, *, usage: Usage = NO_USAGE
    ) -> Planned:
        messages = question
        wrong: tuple[Diagnostic, ...] = ()
        for _ in range(_ANSWERS):
            answer = await self._asked(messages, known, call, usage)
            usage += answer.usage
            draft, found = repair(answer.raw, known, base=base, most=MAX_STEPS)
            wrong = _unusable(draft, base) or tuple(one for one in found if one.severity == "error")
            if draft is not None and not wrong:
                return Planned(plan=Plan.of(draft), diagnostics=found, usage=usage)
            origins = joined(*(message.origins for message in question))
            messages = (*question, *correcting(json.dumps(answer.raw, ensure_ascii=False), (*wrong, *found), origins))
        raise PlanError(wrong, usage=usage)

    async def _asked(
        self, messages: tuple[Message, ...], known: Known, call: Call, spent: Usage
    ) -> StructuredCallResult[PlanAnswer]:
        wanted = TypeAdapter(Annotated[PlanAnswer, WithJsonSchema(answer_schema(known))])
        try:
            return await structured_llm_call(self._model, messages, wanted, call, name="plan")
        except NoTypedAnswer as none:
            unreadable = error("P014", "", f"the model's answer is no plan: {none}")
            raise PlanError((unreadable,), usage=spent + none.usage) from none
        except ModelError as outage:
            outage.usage = spent + outage.usage
            raise


def kept(plan: Plan, results: Results) -> Draft:
    """What of the plan stays in its revision: the steps that succeeded and all that these depend on, as they are.

    The output does not stay: the step that it names did not meet the goal by itself.
    """
    needs = {step.id: step.depends_on for step in plan.steps}
    stays = leading_to(needs, (name for name, result in results.items() if isinstance(result, Succeeded) and name in needs))
    steps = tuple(step for step in plan.steps if step.id in stays)
    return Draft(goal=plan.goal, inputs=plan.inputs, steps=steps, limits=plan.limits)


def _known(tools: Sequence[ToolSpec], hints: Sequence[str]) -> Known:
    specs = {tool.name: tool for tool in tools}
    return Known(tools=frozenset(specs), hints=frozenset(hints), specs=specs)


def _unusable(draft: Draft | None, base: Draft) -> tuple[Diagnostic, ...]:
    if draft is not None and len(draft.steps) == len(base.steps):
        return (error("P001", "/steps", "the answer adds no step", fix="add at least one"),)
    return ()
