"""How one step is done: by a fresh agent, by one tool call, or by a person's word."""

import json
from functools import cache
from typing import assert_never

import anyio
from msgspec.structs import replace

from orchestrator.agent import ReActAgent
from orchestrator.batch import observe_one
from orchestrator.briefing import Brief, briefed
from orchestrator.ends import ended, failed, spoilt
from orchestrator.errors import Rejected, StepError, StepTimedOut
from orchestrator.events.facts import StepRetried
from orchestrator.granted import GrantedCalls
from orchestrator.hooks import CompositeHook, Hook
from orchestrator.interrupts import InterruptQueue
from orchestrator.journalled import JournalledModel, JournalledTools
from orchestrator.ledger import Ledger
from orchestrator.limits import Limits
from orchestrator.logs import report
from orchestrator.lookback import lookback
from orchestrator.outputs import concluded, data_of
from orchestrator.prompts import step_system
from orchestrator.sight import Sight
from orchestrator.spending.calls import out_of_time, paid
from orchestrator.spending.purse import Purse
from orchestrator.summarising import Summariser
from orchestrator.trying import Tries, Try
from orchestrator.verifying import Verifier
from orchestrator.waiting import Waiting
from planner import AnyStep, ApprovalStep, BrokenReference, MapStep, PlanStep, Step, ToolStep
from planner.errors import Undecided
from planner.plan import PlanLimits
from planner.references import rendered
from planner.results import Failed, Skipped, StepResult, Succeeded
from registry.calls import Call
from registry.errors import ModelError, ToolError
from registry.messages import Json, ToolCall
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.origins import joined
from registry.tools.registry import ToolRegistry

StepEnd = StepResult | tuple[Waiting, ...]


_written = json.JSONEncoder(ensure_ascii=False).encode
FAILS_A_STEP = (ModelError, ToolError, StepError, BrokenReference, Undecided)
"""Errors that end one step; everything else is the run's."""


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
        purse: Purse | None = None,
    ) -> None:
        self._purse = purse
        self._models, self._tools, self._ledger = models, tools.with_width(limits.tool_width), ledger
        self._journalled = JournalledTools(self._tools, ledger, ending=True)
        self._hooks, self._limits, self._interrupts = hooks, limits, interrupts
        self._verifier = Verifier(models=models, tools=self._tools, ledger=ledger, hooks=hooks)
        self._compaction = models.model("compaction")
        self._summariser = Summariser(JournalledModel(self._compaction, ledger), limits.reply_tokens)
        self._granted = cache(self._tools.only)

    def seconds(self, step: AnyStep, limits: PlanLimits) -> float | None:
        """How long the step may take. What consists of others has no limit that it does not set itself: each of them has one."""
        if step.kind in ("map", "plan"):
            return step.timeout
        return step.timeout or limits.timeout or self._limits.step_seconds

    def paid(self, call: Call) -> Call:
        """The call of a step, paid from what the run's steps may spend."""
        return call if self._purse is None else paid(call, self._purse.of(call.label))

    def open(self, step: MapStep | PlanStep) -> None:
        """What the step consists of is about to begin."""
        if self._purse is not None and isinstance(step, PlanStep):
            self._purse.open(step)

    def unaffordable(self, step: AnyStep, attempt: Try) -> Skipped | None:
        """The end of a step that is not begun, since too little is left of what the run may spend."""
        if self._purse is None or (attempt.scope, attempt.attempt) in self._ledger.state.starts:
            return None
        return self._purse.closed(step)

    def model_name(self, step: AnyStep) -> str:
        """Which model will do the step, empty where none does."""
        return self._models.model(step.hints[0]).name if step.kind == "agent" else ""

    async def do(self, step: Step | ToolStep | ApprovalStep, sight: Sight) -> StepEnd:
        """The step's result, or what it waits for. Errors of models, tools and hooks become a Failed."""
        call = sight.call
        tries = Tries.of(step, self._ledger.state, call.scope, call.attempt)
        while True:
            this = sight if tries.number == call.attempt else sight.at(replace(call, attempt=tries.number))
            end = await self._one_try(step, this, tries)
            if not isinstance(end, Failed) or not tries.another_after(end) or self._late(step, sight):
                return end if isinstance(end, tuple) else tries.whole(end)
            await self._ledger.record(StepRetried(scope=call.scope, attempt=call.attempt, result=end))
            tries = tries.after(end)

    async def _one_try(self, step: Step | ToolStep | ApprovalStep, sight: Sight, tries: Tries) -> StepEnd:
        try:
            match step:
                case ToolStep():
                    end = await self._by_tool(step, sight)
                case Step():
                    end = await self._by_agent(step, sight, tries)
                case ApprovalStep():
                    return self._by_person(step, sight)
                case _:
                    assert_never(step)
        except FAILS_A_STEP as error:
            return failed(step, error)
        if step.verify is None or not isinstance(end, Succeeded):
            return end
        try:
            return await self._verifier.verified(step, end, sight)
        except FAILS_A_STEP as error:
            return spoilt(end, error)

    async def _by_agent(self, step: Step, sight: Sight, tries: Tries) -> StepEnd:
        began = anyio.current_time()
        model = await self._model(tries, sight.call)
        brief = await briefed(step, sight, tries, window=model.context_window, summariser=self._summariser)
        agent = self._agent(step, sight, model, brief)
        result = await agent.run(brief.question, call=sight.call, ledger=self._ledger, origins=brief.origins)
        if result.outcome == "suspended":
            return result.waiting
        seconds = anyio.current_time() - began - result.waited - brief.waited
        if brief.usage.requests:
            result = replace(result, usage=brief.usage + result.usage)
        late = None if result.outcome == "completed" else self._late(step, sight)
        end = ended(step, result, seconds=seconds, late=late, limit=agent.max_iterations)
        if step.output_schema is None or not isinstance(end, Succeeded):
            return end
        try:
            call = replace(sight.call, purpose="structured")
            data, usage = await concluded(result, step.output_schema, JournalledModel(model, self._ledger), call)
        except (ModelError, StepError) as error:
            return spoilt(end, error)
        return replace(end, output=rendered(data), data=data, usage=end.usage + usage)

    async def _model(self, tries: Tries, call: Call) -> Model:
        model = self._models.model(tries.hint)
        return model if self._purse is None else await self._purse.model(model, call)

    def _agent(self, step: Step, sight: Sight, model: Model, brief: Brief) -> ReActAgent:
        tools, limits = self._tools if step.tools is None else self._granted(tuple(step.tools)), sight.plan.limits
        if brief.shortened and (len(tools) or model.abilities.get("tool_call", False)):
            tools = tools.with_tools(lookback(brief.shortened))
        most = limits.max_calls if step.max_calls is None else step.max_calls
        return ReActAgent(
            model,
            tools,
            system=step_system(sight.plan.goal),
            hooks=self._hooks if most is None else CompositeHook((self._hooks, GrantedCalls(most)), report=report),
            interrupts=self._interrupts,
            max_iterations=step.max_iterations or limits.max_iterations or self._limits.step_iterations,
            reply_tokens=self._limits.reply_tokens,
            tool_hint=step.tool_hint,
            compaction=self._compaction,
        )

    async def _by_tool(self, step: ToolStep, sight: Sight) -> StepEnd:
        args = sight.resolved(step.args)
        arguments = _written(args.value) if args.value else "{}"
        wanted = ToolCall(id=step.id, name=step.tool, arguments=arguments)
        seen = await observe_one(self._journalled, wanted, sight.call, self._hooks)
        if isinstance(seen, Waiting):
            return (seen,)
        origins = joined(args.origins, seen.origins) if args.origins else seen.origins
        if seen.error is not None:
            return Failed(step=step.id, error=seen.error, message=seen.text, seconds=seen.seconds, origins=origins)
        end = Succeeded(step=step.id, output=seen.text, data=seen.data, seconds=seen.seconds, origins=origins)
        if step.output_schema is None:
            return end
        try:
            return replace(end, data=data_of(end, step.output_schema))
        except StepError as error:
            return spoilt(end, error)

    def _by_person(self, step: ApprovalStep, sight: Sight) -> StepEnd:
        """What was shown, and nothing else, is what they said yes or no to: who comes back to it in another attempt is asked."""
        question, call = sight.worded(step.question), sight.call
        waiting = Waiting(step=step.id, key=call.scope, what=question.value, kind="approval", nth=call.attempt)
        answered = self._ledger.state.answers.get(waiting.id)
        if answered is None:
            return (waiting,)
        if answered.decision != "approve":
            return replace(failed(step, Rejected(answered.text, answered.by)), origins=question.origins)
        output = f"approved by {answered.by or 'the user'}" + (answered.text and f": {answered.text}")
        said: Json = {"by": answered.by, "text": answered.text}
        return Succeeded(step=step.id, output=output, data=said, origins=question.origins)

    def _late(self, step: AnyStep, sight: Sight) -> StepError | None:
        """The step's own clock, or the run's, when it has run out: whatever failed last, that is why."""
        if (spent := out_of_time(sight.call.budget)) is not None:
            return spent
        deadline, seconds = sight.call.deadline, self.seconds(step, sight.plan.limits)
        over = deadline is not None and anyio.current_time() >= deadline
        return StepTimedOut(seconds) if over and seconds is not None else None
