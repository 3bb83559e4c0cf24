"""How a goal becomes an answer: plan, walk, judge, perhaps revise, write.

Every part is written down when it is done, and taken from the ledger when it was done before: a resumed run tells the same story.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import anyio

from orchestrator.errors import DeniedByHook, UnknownRun
from orchestrator.events.facts import (
    AnswerWritten,
    Phase,
    PhaseBegan,
    PlanReady,
    PlanRejected,
    RunEnded,
    RunOutcome,
    RunStarted,
    RunSuspended,
    VerdictReached,
)
from orchestrator.executor import DAGExecutor, Suspended
from orchestrator.hooks import Hook
from orchestrator.interrupts import InterruptQueue
from orchestrator.journalled import JournalledModel
from orchestrator.ledger import Ledger
from orchestrator.limits import Limits
from orchestrator.run import Answer
from orchestrator.state import RunState
from orchestrator.summary import summarised
from orchestrator.synthesis import Synthesis
from orchestrator.waiting import Waiting
from planner import DAGPlanner, Known, Plan, PlanAnalyzer, PlanError, Planned, check
from planner.analyzer import structural_verdict
from planner.diff import plan_diff
from planner.results import Achieved, Failed, Missing, Results, Verdict
from registry.calls import Call
from registry.errors import ConfigurationError
from registry.messages import Json
from registry.models.registry import ModelRegistry
from registry.storable import unstorable
from registry.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What was asked for: a goal, or a plan with its inputs, on a day."""

    goal: str
    plan: Plan | None
    inputs: Mapping[str, Json]
    today: str
    setup: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(cls, goal: str | Plan, inputs: Mapping[str, Json], *, today: str, setup: Mapping[str, Json]) -> Self:
        if inputs and not isinstance(goal, Plan):
            raise ConfigurationError("inputs are for a plan that asks for them; a goal in words has none")
        found = unstorable(dict(inputs), "inputs") or unstorable(dict(setup), "setup")
        if found is not None:
            raise ConfigurationError(found)
        if isinstance(goal, Plan):
            return cls(goal=goal.goal, plan=goal, inputs=inputs, today=today, setup=setup)
        return cls(goal=goal, plan=None, inputs=inputs, today=today, setup=setup)

    @classmethod
    def again(cls, state: RunState, run_id: str) -> Self:
        """What a run of the journal was asked for. Raises `UnknownRun` when not even that was written down."""
        if state.started is None:
            raise UnknownRun(run_id)
        return cls(goal=state.started.goal, plan=state.started.plan, inputs=state.started.inputs, today=state.started.today)


async def begin(accepted: Accepted, ledger: Ledger) -> None:
    """Write down what was asked for: the first thing of every run."""
    if ledger.state.started is None:
        await ledger.record(
            RunStarted(
                goal=accepted.goal,
                plan=accepted.plan,
                inputs=accepted.inputs,
                today=accepted.today,
                setup=accepted.setup,
            )
        )


class Story:
    """One run's way from goal to answer."""

    def __init__(
        self,
        accepted: Accepted,
        ledger: Ledger,
        *,
        models: ModelRegistry,
        tools: ToolRegistry,
        hooks: Hook,
        limits: Limits,
        interrupts: InterruptQueue,
    ) -> None:
        self._accepted, self._ledger = accepted, ledger
        self._models, self._tools, self._hooks, self._limits = models, tools, hooks, limits
        self._executor = DAGExecutor(models, tools, ledger=ledger, hooks=hooks, limits=limits, interrupts=interrupts)
        self._phases = list(ledger.state.phases)
        self._began = anyio.current_time()

    async def tell(self) -> Answer:
        """The whole story, from where it `begin`s. Raises what left it without an answer."""
        plan, round_, attempts, finished = await self._plan(), 1, Counter[str](), frozenset[str]()
        while True:
            await self._phase("executing")
            walked = await self._executor.walk(plan, inputs=self._accepted.inputs, attempts=attempts)
            if isinstance(walked, Suspended):
                return await self._suspend(plan, walked)
            verdict = await self._judge(plan, walked.results, round_)
            if isinstance(verdict, Achieved) or not verdict.confidence or round_ >= self._rounds:
                break  # a verdict without confidence says nothing that a revision could go by
            if round_ > 1 and finished.issuperset(walked.finished):
                break  # a revision that brought nothing new is not followed by another
            finished = finished.union(walked.finished)
            revised = await self._revise(plan, walked.results, verdict, round_ + 1)
            if revised is None:
                verdict = with_first_failure(verdict, walked.results)
                break
            attempts.update({digest: 1 + (digest not in attempts) for digest in walked.unfinished})
            plan, round_ = revised, round_ + 1
        written = await self._write(plan, walked.results, verdict)
        return await self._end(plan, walked.results, verdict, written)

    @property
    def _rounds(self) -> int:
        """How many plans there may be. A submitted plan is its submitter's, and revised only where they ask for it."""
        return self._limits.rounds if self._accepted.plan is None else self._limits.submitted_rounds

    async def _phase(self, phase: Phase) -> None:
        if self._phases:  # told in an earlier life of the run
            self._phases.pop(0)
        else:
            await self._ledger.record(PhaseBegan(phase=phase))

    async def _plan(self) -> Plan:
        """The first plan: the submitted one, or one that the planner makes."""
        if self._accepted.plan is None:
            await self._phase("planning")
        if self._ledger.state.rounds:
            return self._ledger.state.rounds[0].plan
        if self._accepted.plan is not None:
            return await self._ready(Planned(plan=self._accepted.plan))
        try:
            planned = await self._planner().plan(
                self._accepted.goal,
                today=self._accepted.today,
                tools=self._tools.specs,
                hints=self._models.hints,
                # What the model said before, in an earlier life of the run, was no plan: it is asked anew.
                call=self._call("plan", 1, attempt=1 + self._ledger.state.rejected.count(1)),
            )
            return await self._ready(planned)
        except PlanError as error:
            await self._reject(1, error)
            raise

    async def _revise(self, plan: Plan, results: Results, verdict: Verdict, round_: int) -> Plan | None:
        """The next plan, or None when there is none to be had. What it shares with the one before is not done again."""
        await self._phase("replanning")
        if round_ in self._ledger.state.rejected:
            return None
        if len(self._ledger.state.rounds) >= round_:
            return self._ledger.state.rounds[round_ - 1].plan
        try:
            planned = await self._planner().revise(
                plan,
                results,
                verdict,
                today=self._accepted.today,
                tools=self._tools.specs,
                hints=self._models.hints,
                call=self._call("plan", round_),
            )
            return await self._ready(planned, round_=round_, before=plan)
        except PlanError as error:  # the answer is made from what there is, and says what is missing
            await self._reject(round_, error)
        except DeniedByHook:
            pass
        return None

    async def _reject(self, round_: int, error: PlanError) -> None:
        await self._ledger.record(PlanRejected(round=round_, diagnostics=error.diagnostics, usage=error.usage))

    async def _ready(self, planned: Planned, *, round_: int = 1, before: Plan | None = None) -> Plan:
        """Only a plan that the hooks let through and whose tools, models and inputs exist is walked."""
        plan = await self._hooks.on_plan(planned.plan)
        models = {hint: self._models.model(hint) for hint in self._models.hints}
        found = check(plan, Known.of(self._tools, models, self._accepted.inputs))
        if any(each.severity == "error" for each in found):
            raise PlanError(found)
        await self._ledger.record(
            PlanReady(
                plan=plan,
                round=round_,
                diagnostics=(*planned.diagnostics, *found),
                diff={} if before is None else plan_diff(before, plan),
                usage=planned.usage,
            )
        )
        return plan

    async def _judge(self, plan: Plan, results: Results, round_: int) -> Verdict:
        """Whether the goal is met. For a submitted plan that may not be revised, its steps alone decide, and so they do where one
        failed that asks for another plan."""
        known = self._ledger.state.verdicts
        replan = any(step.policy == "replan" and isinstance(results.get(step.id), Failed) for step in plan.steps)
        ask = (self._accepted.plan is None or self._rounds > 1) and not replan
        if ask:
            await self._phase("analyzing")
        if len(known) >= round_:
            return known[round_ - 1].verdict
        if ask:
            model = JournalledModel(self._models.model("planning"), self._ledger)
            judged = await PlanAnalyzer(model).judge(plan.goal, plan, results, self._call("verdict", round_))
            reached = VerdictReached(verdict=judged.verdict, round=round_, usage=judged.usage)
        else:
            reached = VerdictReached(verdict=structural_verdict(plan, results), round=round_)
        await self._ledger.record(reached)
        return reached.verdict

    async def _write(self, plan: Plan, results: Results, verdict: Verdict) -> AnswerWritten:
        await self._phase("synthesis")
        known = self._ledger.state.answer
        if known is not None:
            return known
        synthesis = Synthesis(self._models.model("synthesis"), self._ledger, hooks=self._hooks, limits=self._limits)
        written = await synthesis.write(plan, results, verdict)
        await self._ledger.record(written)
        return written

    async def _suspend(self, plan: Plan, walked: Suspended) -> Answer:
        answer = self._answer(plan, walked.results, outcome="suspended", waiting=walked.waiting)
        await self._ledger.record(RunSuspended(waiting=walked.waiting, summary=answer.summary))
        return answer

    async def _end(self, plan: Plan, results: Results, verdict: Verdict, written: AnswerWritten) -> Answer:
        outcome: RunOutcome = "achieved" if isinstance(verdict, Achieved) else "missing"
        answer = self._answer(plan, results, outcome=outcome, output=written.text, verdict=verdict)
        if not self._ledger.state.over:
            await self._ledger.record(RunEnded(outcome=outcome, summary=answer.summary, answer=written.text))
        return answer

    def _answer(
        self,
        plan: Plan,
        results: Results,
        *,
        outcome: RunOutcome,
        output: str = "",
        verdict: Verdict | None = None,
        waiting: tuple[Waiting, ...] = (),
    ) -> Answer:
        seconds = anyio.current_time() - self._began
        summary = summarised(self._ledger.facts, wall_seconds=seconds, reused=self._ledger.reused)
        return Answer(
            run_id=self._ledger.run,
            outcome=outcome,
            output=output,
            plan=plan,
            steps=results,
            usage=summary.usage,
            summary=summary,
            verdict=verdict,
            waiting=waiting,
        )

    def _planner(self) -> DAGPlanner:
        return DAGPlanner(JournalledModel(self._models.model("planning"), self._ledger))

    def _call(self, purpose: Literal["plan", "verdict"], round_: int, *, attempt: int = 1) -> Call:
        return Call(run=self._ledger.run, scope=f"{purpose}/{round_}", purpose=purpose, label=purpose, attempt=attempt)


def with_first_failure(verdict: Missing, results: Results) -> Missing:
    """The verdict on a run that can't go on: what it came to grief on stands first."""
    failed = next((result for result in results.values() if isinstance(result, Failed)), None)
    if failed is None:
        return verdict
    cause = f"{failed.step} failed: {failed.message}"
    return replace(verdict, missing=(cause, *(each for each in verdict.missing if each != cause)))
