"""One walk of one plan: workers that take what is ready, do it, and write down what came of it."""

from collections.abc import Iterable, Mapping
from functools import partial
from math import inf
from sys import intern

import anyio
from msgspec.structs import replace

from orchestrator.crew import Crew
from orchestrator.ends import failed, left_out, refused
from orchestrator.errors import DeniedByHook, StepTimedOut
from orchestrator.events.facts import Answered, StepEnded, StepPaused, StepStarted, StopRequested
from orchestrator.events.glimpses import StepAdmitted, StepQueued
from orchestrator.events.recorded import Recorded
from orchestrator.fellows import finished, taken_over, unfinished
from orchestrator.frontier import Frontier
from orchestrator.hooks import Hook, same_place
from orchestrator.ledger import Ledger
from orchestrator.parts import gathered, parts_of
from orchestrator.sight import Sight
from orchestrator.steps import FAILS_A_STEP, StepEnd, StepWork
from orchestrator.timing import Timing
from orchestrator.trying import Try
from orchestrator.waiting import Waiting
from orchestrator.walked import Settled, Suspended
from planner import AnyStep, MapStep, Plan, PlanStep
from planner.identity import fellows, step_digests
from planner.past import Past
from planner.results import Skipped, StepResult, Succeeded
from registry.calls import Call
from registry.messages import Json


class Walk:
    """One walk of one plan. `attempts` says by content digest which try a step is at, where that is not the first. `past` is how
    long such steps took before."""

    def __init__(
        self,
        plan: Plan,
        inputs: Mapping[str, Json],
        attempts: Mapping[str, int],
        past: Past,
        *,
        work: StepWork,
        ledger: Ledger,
        hooks: Hook,
    ) -> None:
        self._attempts, self._work, self._ledger, self._hooks = attempts, work, ledger, hooks
        self._waiting: dict[str, Waiting] = {}
        self._paused: dict[str, float] = {}
        self._unwritten: dict[str, Succeeded] = {}
        self._deadlines: dict[str, float] = {}
        self._consist: dict[str, MapStep | PlanStep] = {}

        values = plan.values(inputs)
        digests = step_digests(plan, values)
        self._fellows = fellows(digests)
        self._tries = {step_id: self._try(digest) for step_id, digest in digests.items()}
        known = self._known(self._tries)
        self._told = set(known)
        self._timing = Timing(past, work.model_name)
        weights = self._timing.weights(plan.steps, self._tries)
        self._frontier = Frontier(plan, known, begun=self._begun(self._tries), fellows=self._fellows, weights=weights)
        self._crew = Crew(self._frontier, self._take_turn)
        self._sights = dict.fromkeys(self._tries, Sight(plan=plan, inputs=values, results=self._frontier.results))

    async def to_the_end(self) -> Settled | Suspended:
        self._ledger.reused += len(self._told)
        for result in self._frontier.in_plan_order().values():
            if result.step not in self._told:  # skipped by what is known, and not written down before the run was interrupted
                await self._ledger.record(self._end(result))
        with self._ledger.listening(self._hear_end, StepEnded):
            while self._frontier.ready or self._unwritten:
                await self._work_on()
                await self._take_in()
                self._take_up_answered()
        results = self._frontier.in_plan_order()
        if self._waiting:
            return Suspended(results=results, waiting=tuple(self._waiting.values()))
        ends = self._frontier.results
        done, undone = self._digests(finished(ends, self._fellows)), self._digests(unfinished(ends))
        return Settled(results=results, finished=done, unfinished=undone)

    async def _work_on(self) -> None:
        """Do what can be done now, and what answers allow that come meanwhile."""

        def hear(_answer: Recorded) -> None:
            if self._crew.at_work and self._take_up_answered():
                self._crew.call()

        with self._ledger.listening(hear, Answered, StopRequested):
            await self._crew.work()

    def _hear_end(self, recorded: Recorded) -> None:
        """An end that nobody waited for is written down: now it counts, and what it lets start may start."""
        assert isinstance(recorded.event, StepEnded)
        result = self._unwritten.pop(recorded.event.result.step, None)
        if result is not None:
            self._frontier.settle(result)
            if self._frontier.ready and self._crew.at_work:
                self._crew.call()

    async def _take_in(self) -> None:
        """All ends that are still on their way, and what others have said to the run."""
        await self._ledger.written()
        await self._ledger.catch_up()

    def _take_up_answered(self) -> bool:
        """Steps may start again whose answers are there, or have become needless: the run was stopped. Whether there were any."""
        known = self._ledger.state
        answered = [waiting for waiting in self._waiting if known.stopped or waiting in known.answers]
        return any([self._take_up(waiting) for waiting in answered])

    def _take_up(self, waiting: str) -> bool:
        """The step that waited for this answer may start again. Whether there was one."""
        answered = self._waiting.get(waiting)
        if answered is None:
            return False
        self._waiting = {each: wait for each, wait in self._waiting.items() if wait.step != answered.step}
        waited = anyio.current_time() - self._paused.pop(answered.step)
        for whole in self._frontier.around(answered.step):  # people take as long as they take
            if whole in self._deadlines:
                self._deadlines[whole] += waited
        self._ledger.rewind(self._tries[answered.step].scope)
        self._frontier.again(answered.step)
        return True

    async def _take_turn(self, step: AnyStep) -> None:
        ended = await self._turn(step)
        if isinstance(ended, tuple):
            await self._pause(step, ended)
        elif ended is not None:
            await self._settle(ended)

    async def _pause(self, step: AnyStep, waits: tuple[Waiting, ...]) -> None:
        if stopped := self._ledger.state.stopped:
            await self._settle(left_out(step, stopped))
            return
        self._paused[step.id] = anyio.current_time()
        self._frontier.pause(step.id)
        self._timing.spoil(step.id)
        for waiting in waits:
            if waiting.id not in self._ledger.state.paused:
                await self._ledger.record(StepPaused(waiting=waiting))
            self._waiting[waiting.id] = waiting
        self._take_up_answered()  # what came in the meantime

    async def _turn(self, step: AnyStep) -> StepEnd | None:
        """What becomes of a step whose turn it is; None for one that consists of others, whose turn it is first."""
        opened = self._consist.get(step.id)
        if opened is not None:
            return await self._checked(self._gathered(opened))
        closed = self._closed(step)
        if closed is not None:
            return closed
        try:
            step = same_place(await self._hooks.before_step(step), step)
        except DeniedByHook as denial:
            return failed(step, denial)
        await self._begin(step)
        if step.kind == "map" or step.kind == "plan":  # noqa: PLR1714 (so it is told from the others)
            ended: StepEnd | None = await self._open(step)
        else:
            ended = await self._work.do(step, self._sight(step))
        return ended if ended is None or isinstance(ended, tuple) else await self._checked(ended)

    def _closed(self, step: AnyStep) -> StepResult | None:
        """The end of a step that is not begun: another one did the same, its condition does not hold, or its time is over."""
        if step.id in self._fellows:
            return taken_over(self._frontier.results[self._fellows[step.id]], step.id)
        if (stopped := self._ledger.state.stopped) and not self._begun({step.id: self._tries[step.id]}):
            return left_out(step, stopped)
        if self._deadlines:
            over = [each for each in self._frontier.around(step.id) if self._deadlines.get(each, inf) <= anyio.current_time()]
            if over:
                return failed(step, StepTimedOut(self._consist[over[0]].timeout or 0.0))
        try:
            if step.when is None or self._sights[step.id].holds(step.when):
                return self._work.unaffordable(step, self._tries[step.id])
        except FAILS_A_STEP as error:
            return failed(step, error)
        return Skipped(step=step.id, because_of=step.id, reason=f"it does not hold that {step.when}", untaken=True)

    async def _begin(self, step: AnyStep) -> None:
        this = self._tries[step.id]
        scope, attempt = this.scope, this.attempt
        if (scope, attempt) not in self._ledger.state.starts:
            model = self._work.model_name(step)
            self._timing.begin(step, model)
            await self._ledger.jot(
                StepStarted(step=step.id, step_kind=step.kind, scope=scope, attempt=attempt, task=step.about, model=model)
            )

    def _sight(self, step: AnyStep) -> Sight:
        """What the step sees, and how its calls are told from others."""
        sight, this = self._sights[step.id], self._tries[step.id]
        seconds = self._work.seconds(step, sight.plan.limits)
        around = [self._deadlines.get(each, inf) for each in self._frontier.around(step.id)] if self._deadlines else ()
        call = Call(
            run=self._ledger.run,
            scope=this.scope,
            attempt=this.attempt,
            label=step.id,
            rank=self._frontier.rank(step.id),
            deadline=min(anyio.current_time() + seconds, *around, inf) if seconds is not None else None,
            in_doubt=step.in_doubt,
            queued=partial(self._queued, step.id),
        )
        return sight.at(self._work.paid(call))

    async def _open(self, step: MapStep | PlanStep) -> StepResult | None:
        """Put in what the step consists of. What the ledger knows of that is not done again."""
        try:
            opened = parts_of(step, self._sights[step.id], self._tries[step.id].digest)
        except FAILS_A_STEP as error:
            return failed(step, error)
        tries = {each.part.step.id: self._try(each.digest) for each in opened}
        self._tries |= tries
        self._sights |= {each.part.step.id: each.sight for each in opened}
        self._fellows |= {each.part.step.id: each.fellow for each in opened if each.fellow}
        self._consist[step.id] = step
        self._work.open(step)
        if step.timeout is not None:
            self._deadlines[step.id] = anyio.current_time() + step.timeout
        known = self._known(tries)
        self._ledger.reused += len(known)
        skipped = self._frontier.expand(
            step.id,
            [each.part for each in opened],
            width=step.width if isinstance(step, MapStep) else None,
            done=known.values(),
            begun=self._begun(tries),
            weights=self._timing.weights((each.part.step for each in opened), tries),
        )
        for each in skipped:
            if each.step not in known:
                await self._ledger.record(self._end(each))
        return None

    def _gathered(self, step: MapStep | PlanStep) -> StepResult:
        try:
            return gathered(step, self._sights[step.id], self._frontier.parts(step.id))
        except FAILS_A_STEP as error:
            return failed(step, error)

    def _try(self, digest: str) -> Try:
        return Try.of(digest, self._attempts.get(digest, 1))

    def _known(self, tries: Mapping[str, Try]) -> dict[str, StepResult]:
        """The ends that the ledger knows, under the names that the steps have here."""
        known = self._ledger.state.steps
        ends = {step_id: known.get((this.scope, this.attempt)) for step_id, this in tries.items()} if known else {}
        return {step_id: replace(end, step=step_id) for step_id, end in ends.items() if end is not None}

    def _begun(self, tries: Mapping[str, Try]) -> list[str]:
        begun = self._ledger.state.starts
        return [step_id for step_id, this in tries.items() if (this.scope, this.attempt) in begun] if begun else []

    def _digests(self, steps: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._tries[step_id].digest for step_id in steps)

    async def _checked(self, result: StepResult) -> StepResult:
        try:
            return await self._hooks.after_step(result)
        except DeniedByHook as denial:
            return refused(result, denial)

    def _queued(self, step_id: str, waited: float | None) -> None:
        queued = StepQueued(step=step_id) if waited is None else StepAdmitted(step=step_id, waited=waited)
        self._ledger.glimpse(queued)

    async def _settle(self, result: StepResult) -> None:
        """The one way a step ends: written first, then announced, then its end counts.

        Others need not wait for the writing down of an end that skips nobody, if it goes with what is about to be written.
        """
        end = self._end(result)
        if isinstance(result, Succeeded) and self._ledger.add(end):
            self._unwritten[result.step] = result
            return
        await self._ledger.record(end)
        for skipped in self._frontier.settle(result):
            await self._ledger.record(self._end(skipped))

    def _end(self, result: StepResult) -> StepEnded:
        this = self._tries[result.step]
        self._ledger.rewind(this.scope)  # whose calls nobody counts any more
        fellow = "" if isinstance(result, Skipped) else self._fellows.get(result.step, "")
        self._ledger.reused += bool(fellow)
        like = "" if fellow else intern(self._timing.like(result.step))  # it took no time, which says nothing of others
        return StepEnded(scope=this.scope, attempt=this.attempt, result=result, same_as=fellow, like=like)
