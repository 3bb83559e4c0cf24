"""How a goal becomes an answer: plan, walk, judge, perhaps revise, write.

Every part is written down when it is done, and taken from the ledger when it was done before: a resumed run tells the same story.
"""

from collections import Counter
from typing import Literal

import anyio
from msgspec.structs import replace

from orchestrator.accepted import Accepted
from orchestrator.errors import BudgetExhausted, DeniedByHook
from orchestrator.events.facts import (
    AnswerWritten,
    Phase,
    PhaseBegan,
    PlanReady,
    PlanRejected,
    RunEnded,
    RunOutcome,
    RunSuspended,
    VerdictReached,
)
from orchestrator.executor import DAGExecutor, Suspended
from orchestrator.history import history, named_by
from orchestrator.hooks import Hook
from orchestrator.interrupts import InterruptQueue
from orchestrator.journal.protocol import Journal
from orchestrator.journalled import JournalledModel
from orchestrator.ledger import Ledger
from orchestrator.limits import Limits
from orchestrator.rounds import another
from orchestrator.run import Answer
from orchestrator.spending.calls import paid, spent_out
from orchestrator.spending.purse import Purse
from orchestrator.spending.undone import landed, undone
from orchestrator.summarising import Summariser
from orchestrator.summary import summarised
from orchestrator.synthesis import Synthesis
from orchestrator.waiting import Waiting
from planner import DAGPlanner, Known, Plan, PlanAnalyzer, PlanError, Planned, check
from planner.analyzer import Judged, structural_verdict
from planner.diff import plan_diff
from planner.results import Achieved, Failed, Missing, Results, Verdict
from registry.calls import Call
from registry.errors import ModelError, OverBudget
from registry.models.registry import ModelRegistry
from registry.tools.registry import ToolRegistry


class Story:
    """One run's way from goal to answer."""

    def __init__(
        self,
        accepted: Accepted,
        ledger: Ledger,
        journal: Journal,
        *,
        models: ModelRegistry,
        tools: ToolRegistry,
        hooks: Hook,
        limits: Limits,
        interrupts: InterruptQueue,
        purse: Purse | None = None,
    ) -> None:
        self._accepted, self._ledger, self._journal, self._purse = accepted, ledger, journal, purse
        self._models, self._tools, self._hooks, self._limits = models, tools, hooks, limits
        self._executor = DAGExecutor(models, tools, ledger=ledger, hooks=hooks, limits=limits, interrupts=interrupts, purse=purse)
        self._phases = list(ledger.state.phases)
        self._began = anyio.current_time()

    async def tell(self) -> Answer:
        """The whole story, from where it `begin`s. Raises what left it without an answer."""
        plan, round_, attempts, finished = await self._plan(), 1, Counter[str](), frozenset[str]()
        while True:
            await self._phase("executing")
            past = self._ledger.state.rounds[round_ - 1].past
            walked = await self._executor.walk(plan, inputs=self._accepted.inputs, attempts=attempts, past=past)
            if isinstance(walked, Suspended):
                return await self._suspend(plan, walked)
            verdict = await self._judge(plan, walked.results, round_)
            gained = round_ == 1 or not finished.issuperset(walked.finished)
            if not await self._goes_on(verdict, round_, gained=gained):
                break
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

    @property
    def _may_revise(self) -> bool:
        return self._accepted.plan is None or self._rounds > 1

    async def _goes_on(self, verdict: Verdict, round_: int, *, gained: bool) -> bool:
        """Whether another plan follows. Near the end of its budget a run makes no other."""
        state = self._ledger.state
        if not self._may_revise or not another(state, verdict, round_, most=self._rounds, gained=gained):
            return False
        return self._purse is None or len(state.rounds) > round_ or await self._purse.land() is None

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
        except OverBudget as error:
            raise BudgetExhausted.by(error) from error

    async def _revise(self, plan: Plan, results: Results, verdict: Verdict, round_: int) -> Plan | None:
        """The next plan, or None when there is none to be had. What it shares with the one before is not done again."""
        await self._phase("replanning")
        if round_ in self._ledger.state.rejected:
            return None
        if len(self._ledger.state.rounds) >= round_:
            return self._ledger.state.rounds[round_ - 1].plan
        said = tuple(self._ledger.state.said)
        try:
            planned = await self._planner().revise(
                plan,
                results,
                verdict,
                today=self._accepted.today,
                tools=self._tools.specs,
                hints=self._models.hints,
                call=self._call("plan", round_),
                said=said,
            )
            return await self._ready(planned, round_=round_, before=plan, heard=len(said))
        except PlanError as error:  # the answer is made from what there is, and says what is missing
            await self._reject(round_, error)
        except (DeniedByHook, OverBudget):
            pass
        return None

    async def _reject(self, round_: int, error: PlanError) -> None:
        await self._ledger.record(PlanRejected(round=round_, diagnostics=error.diagnostics, usage=error.usage))

    async def _ready(self, planned: Planned, *, round_: int = 1, before: Plan | None = None, heard: int = 0) -> Plan:
        """Only a plan that the hooks let through and whose tools, models and inputs exist is walked."""
        plan = await self._hooks.on_plan(planned.plan)
        found = check(plan, Known.of(self._tools, self._models.by_hint, self._accepted.inputs))
        if any(each.severity == "error" for each in found):
            raise PlanError(found)
        past = await history(self._journal, plan, self._accepted.inputs, named_by(self._models))
        await self._ledger.record(
            PlanReady(
                plan=plan,
                round=round_,
                diagnostics=(*planned.diagnostics, *found),
                diff={} if before is None else plan_diff(before, plan),
                past=past,
                heard=heard,
                usage=planned.usage,
            )
        )
        return plan

    async def _judge(self, plan: Plan, results: Results, round_: int) -> Verdict:
        """Whether the goal is met. For a submitted plan that may not be revised, its steps alone decide, and so they do where one
        failed that asks for another plan."""
        known = self._ledger.state.verdicts
        replan = any(step.policy == "replan" and isinstance(results.get(step.id), Failed) for step in plan.steps)
        ask = self._may_revise and not replan
        if ask:
            await self._phase("analyzing")
        if len(known) >= round_:
            return known[round_ - 1].verdict
        landing = self._purse is not None and await self._purse.land() is not None
        said = tuple(self._ledger.state.said)
        judged = await self._asked(plan, results, round_, said) if ask else Judged(verdict=structural_verdict(plan, results))
        verdict = landed(judged.verdict, plan, results) if landing else judged.verdict
        await self._ledger.record(VerdictReached(verdict=verdict, round=round_, heard=len(said), usage=judged.usage))
        return verdict

    async def _asked(self, plan: Plan, results: Results, round_: int, said: tuple[str, ...]) -> Judged:
        """What the judge says. A goal that there is nothing left to judge with has not been found to be met."""
        model = JournalledModel(self._models.model("planning"), self._ledger)
        try:
            return await PlanAnalyzer(model).judge(plan.goal, plan, results, self._call("verdict", round_), said=said)
        except ModelError as error:
            spent = spent_out(error, None if self._purse is None else self._purse.verdict)
            if spent is None:
                raise
            missing = (*undone(plan, results), f"a verdict: {spent}")
            return Judged(verdict=Missing(reasoning=str(spent), missing=missing, confidence=0.0), usage=error.usage)

    async def _write(self, plan: Plan, results: Results, verdict: Verdict) -> AnswerWritten:
        await self._phase("synthesis")
        known = self._ledger.state.answer
        if known is not None:
            return known
        budget = None if self._purse is None else self._purse.whole
        model = self._models.model("synthesis")
        synthesis = Synthesis(model, self._ledger, hooks=self._hooks, limits=self._limits, budget=budget)
        written = await synthesis.write(plan, results, verdict, said=tuple(self._ledger.state.said))
        await self._ledger.record(written)
        return written

    async def _suspend(self, plan: Plan, walked: Suspended) -> Answer:
        await self._keep_books()
        answer = self._answer(plan, walked.results, outcome="suspended", waiting=walked.waiting)
        await self._ledger.record(RunSuspended(waiting=walked.waiting, summary=answer.summary))
        return answer

    async def _end(self, plan: Plan, results: Results, verdict: Verdict, written: AnswerWritten) -> Answer:
        await self._keep_books()
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

    async def _keep_books(self) -> None:
        if self._purse is not None and not self._ledger.state.over:
            await self._purse.close()

    def _planner(self) -> DAGPlanner:
        planning, compaction = (JournalledModel(self._models.model(role), self._ledger) for role in ("planning", "compaction"))
        return DAGPlanner(planning, Summariser(compaction).condense)

    def _call(self, purpose: Literal["plan", "verdict"], round_: int, *, attempt: int = 1) -> Call:
        call = Call(run=self._ledger.run, scope=f"{purpose}/{round_}", purpose=purpose, label=purpose, attempt=attempt)
        if self._purse is None:
            return call
        return paid(call, self._purse.work if purpose == "plan" else self._purse.verdict)


def with_first_failure(verdict: Verdict, results: Results) -> Verdict:
    """The verdict on a run that can't go on: what it came to grief on stands first."""
    failed = next((result for result in results.values() if isinstance(result, Failed)), None)
    if failed is None or not isinstance(verdict, Missing):
        return verdict
    cause = f"{failed.step} failed: {failed.message}"
    return replace(verdict, missing=(cause, *(each for each in verdict.missing if each != cause)))
