"""How one step is done: by a fresh agent, by one tool call, or by a person's word."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

import anyio

from orchestrator.agent import AgentResult, ReActAgent
from orchestrator.batch import observe_all
from orchestrator.errors import AgentStopped, IterationsExhausted, Rejected, StepError, StepTimedOut
from orchestrator.hooks import Hook
from orchestrator.interrupts import InterruptQueue
from orchestrator.journalled import JournalledTools
from orchestrator.ledger import Ledger
from orchestrator.limits import Limits
from orchestrator.prompts import step_system, step_task
from orchestrator.waiting import Waiting
from planner import AnyStep, ApprovalStep, BrokenReference, Plan, Step, ToolStep
from planner.references import implied, rendered, resolve
from planner.results import Failed, Results, Skipped, StepResult, Succeeded
from registry.calls import Call
from registry.context import fit_texts
from registry.errors import DagwrightError, ModelError, ToolError
from registry.messages import Json, ToolCall
from registry.models.registry import ModelRegistry
from registry.origins import TRUSTED, Origins, joined
from registry.tools.registry import ToolRegistry
from registry.usage import Usage

StepEnd = StepResult | tuple[Waiting, ...]

FAILS_A_STEP = (ModelError, ToolError, StepError, BrokenReference)
"""Errors that end one step; everything else is the run's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a step may see: its plan, the inputs, the results so far, and its place in the run."""

    plan: Plan
    inputs: Mapping[str, Json]
    results: Results
    call: Call


class StepWork:
    """Does steps. What is configured here reaches every agent: hooks, limits, tools, interrupts."""

    def __init__(
        self,
        models: ModelRegistry,
        tools: ToolRegistry,
        *,
        ledger: Ledger,
        hooks: Hook,
        limits: Limits,
        interrupts: InterruptQueue,
    ) -> None:
        self._models, self._tools, self._ledger = models, tools.with_width(limits.tool_width), ledger
        self._hooks, self._limits, self._interrupts = hooks, limits, interrupts

    def seconds(self, step: AnyStep) -> float:
        """How long the step may take."""
        return step.timeout or self._limits.step_seconds

    def model_name(self, step: AnyStep) -> str:
        """Which model will do the step, empty where none does."""
        return self._models.model(step.model_hint).name if isinstance(step, Step) else ""

    async def do(self, step: AnyStep, sight: Sight) -> StepEnd:
        """The step's result, or what it waits for. Errors of models, tools and hooks become a Failed."""
        try:
            match step:
                case Step():
                    return await self._by_agent(step, sight)
                case ToolStep():
                    return await self._by_tool(step, sight)
                case ApprovalStep():
                    return self._by_person(step, sight)
                case _:
                    assert_never(step)
        except FAILS_A_STEP as error:
            return failed(step, error)

    async def _by_agent(self, step: Step, sight: Sight) -> StepEnd:
        began = anyio.current_time()
        model = self._models.model(step.model_hint)
        agent = ReActAgent(
            model,
            self._tools if step.tools is None else self._tools.only(step.tools),
            system=step_system(sight.plan.goal),
            hooks=self._hooks,
            interrupts=self._interrupts,
            max_iterations=step.max_iterations or self._limits.step_iterations,
            reply_tokens=self._limits.reply_tokens,
        )
        task = resolve(step.task, inputs=sight.inputs, results=sight.results)
        known = _known(step, sight.results, model.context_window)
        goal = step_task(task.value, known, tool_hint=step.tool_hint)
        origins = joined(task.origins, *(_origins(sight.results, dependency) for dependency in step.depends_on))
        result = await agent.run(goal, call=sight.call, ledger=self._ledger, origins=origins)
        if result.outcome == "suspended":
            return result.waiting
        seconds = anyio.current_time() - began - result.waited
        return _ended(step, result, seconds=seconds, late=self._late(step, sight.call), limit=agent.max_iterations)

    async def _by_tool(self, step: ToolStep, sight: Sight) -> StepEnd:
        began = anyio.current_time()
        args = resolve(step.args, inputs=sight.inputs, results=sight.results)
        wanted = ToolCall(id=step.id, name=step.tool, arguments=json.dumps(args.value, ensure_ascii=False))
        (seen,) = await observe_all(JournalledTools(self._tools, self._ledger), [wanted], sight.call, self._hooks)
        if isinstance(seen, Waiting):
            return (seen,)
        origins = joined(args.origins, seen.origins)
        seconds = anyio.current_time() - began
        if seen.error is not None:
            return Failed(step=step.id, error=seen.error, message=seen.text, seconds=seconds, origins=origins)
        return Succeeded(step=step.id, output=seen.text, data=seen.data, seconds=seconds, origins=origins)

    def _by_person(self, step: ApprovalStep, sight: Sight) -> StepEnd:
        """What was shown, and nothing else, is what they said yes or no to: who comes back to it in another attempt is asked."""
        question = resolve(step.question, inputs=sight.inputs, results=sight.results)
        shown, call = rendered(question.value), sight.call
        waiting = Waiting(step=step.id, key=call.scope, what=shown, kind="approval", nth=call.attempt)
        answered = self._ledger.state.answers.get(waiting.id)
        if answered is None:
            return (waiting,)
        if answered.decision != "approve":
            return replace(failed(step, Rejected(answered.text, answered.by)), origins=question.origins)
        output = f"approved by {answered.by or 'the user'}" + (answered.text and f": {answered.text}")
        said: Json = {"by": answered.by, "text": answered.text}
        return Succeeded(step=step.id, output=output, data=said, origins=question.origins)

    def _late(self, step: AnyStep, call: Call) -> StepTimedOut | None:
        """The step's own clock, when it has run out: whatever failed last, that is why."""
        over = call.deadline is not None and anyio.current_time() >= call.deadline
        return StepTimedOut(self.seconds(step)) if over else None


def failed(step: AnyStep, error: DagwrightError) -> Failed:
    """The step's end by an error."""
    usage = error.usage if isinstance(error, ModelError) else Usage()
    origins = error.origins if isinstance(error, BrokenReference) else TRUSTED
    return Failed(step=step.id, error=type(error).__name__, message=str(error), usage=usage, origins=origins)


def refused(result: StepResult, denial: DagwrightError) -> StepResult:
    """A result that a hook does not let through; what it cost was paid all the same."""
    if isinstance(result, Skipped):
        return result
    return Failed(
        step=result.step,
        error=type(denial).__name__,
        message=str(denial),
        model=result.model,
        usage=result.usage,
        seconds=result.seconds,
        iterations=result.iterations,
        origins=result.origins,
    )


def _known(step: Step, results: Results, window: int | None) -> list[tuple[str, str]]:
    """What the dependencies found, each fitted to its share of the window. What the task quotes is not said twice."""
    quoted = set(implied(step))
    names = [dependency for dependency in step.depends_on if dependency not in quoted]
    texts = [_text(results[name]) for name in names]
    if window is not None:
        texts = fit_texts(texts, window // 2)
    return list(zip(names, texts, strict=True))


def _text(result: StepResult) -> str:
    match result:
        case Succeeded(output=output):
            return output
        case Failed(message=message):
            return f"(no result: {message})"
        case _:
            return f"(no result: {result.reason})"


def _origins(results: Results, dependency: str) -> Origins:
    result = results[dependency]
    return result.origins if isinstance(result, Succeeded | Failed) else ()


def _ended(step: Step, result: AgentResult, *, seconds: float, late: StepTimedOut | None, limit: int) -> StepResult:
    """The loop's outcome as the step's end: a success only when it is "completed", or what the step accepts besides."""
    assert result.outcome != "suspended"
    if result.outcome == "completed" or result.outcome in step.accept:
        return Succeeded(
            step=step.id,
            output=result.answer,
            outcome=result.outcome,
            model=result.model,
            usage=result.usage,
            seconds=seconds,
            iterations=result.iterations,
            origins=result.origins,
        )
    stopped = IterationsExhausted(limit) if result.outcome == "exhausted" else AgentStopped(result.outcome)
    error = late or result.error or stopped
    return Failed(
        step=step.id,
        error=type(error).__name__,
        message=str(error),
        outcome=result.outcome,
        output=result.answer,
        model=result.model,
        usage=result.usage,
        seconds=seconds,
        iterations=result.iterations,
        origins=result.origins,
    )
