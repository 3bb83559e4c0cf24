"""One walk of one plan: workers that take what is ready, do it, and write down what came of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import NamedTuple

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from orchestrator.ends import failed, refused
from orchestrator.errors import DeniedByHook, StepTimedOut
from orchestrator.events.facts import Answered, StepEnded, StepPaused, StepStarted
from orchestrator.events.glimpses import StepAdmitted, StepQueued
from orchestrator.events.recorded import Recorded
from orchestrator.frontier import Frontier
from orchestrator.hooks import Hook
from orchestrator.ledger import Ledger
from orchestrator.parts import gathered, parts_of
from orchestrator.sight import Sight
from orchestrator.steps import FAILS_A_STEP, StepEnd, StepWork
from orchestrator.unwrapping import sole_error
from orchestrator.waiting import Waiting
from planner import AnyStep, MapStep, Plan, PlanStep
from planner.identity import step_digests
from planner.results import Results, Skipped, StepResult, Succeeded
from registry.calls import Call
from registry.messages import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Every step of the plan has its result, in plan order.

    Of all steps, those inside others too, `finished` are the content digests of those that succeeded, and `unfinished` of those
    that did not, but for those on branches that were not taken: that was decided.
    """

    results: Results
    finished: tuple[str, ...]
    unfinished: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """Some steps wait, and nothing else can go on without them."""

    results: Results
    waiting: tuple[Waiting, ...]


class Try(NamedTuple):
    """A step's content, and which try at it this is."""

    digest: str
    attempt: int

    @property
    def scope(self) -> str:
        """What the step's calls belong to, whatever the step is named."""
        return f"step/{self.digest}"


class Walk:
    """One walk of one plan. `attempts` says by content digest which try a step is at, where that is not the first."""

    def __init__(
        self,
        plan: Plan,
        inputs: Mapping[str, Json],
        attempts: Mapping[str, int],
        *,
        work: StepWork,
        ledger: Ledger,
        hooks: Hook,
    ) -> None:
        self._attempts, self._work, self._ledger, self._hooks = attempts, work, ledger, hooks
        self._waiting: dict[str, Waiting] = {}
        self._paused: dict[str, float] = {}
        self._deadlines: dict[str, float] = {}
        self._consist: dict[str, MapStep | PlanStep] = {}
        self._workers = 0
        values = plan.values(inputs)
        self._tries = {step_id: self._try(digest) for step_id, digest in step_digests(plan, values).items()}
        known = self._known(self._tries)
        self._told = set(known)
        self._frontier = Frontier(plan, known, begun=self._begun(self._tries))
        self._sights = dict.fromkeys(self._tries, Sight(plan=plan, inputs=values, results=self._frontier.results))

    async def to_the_end(self) -> Settled | Suspended:
        self._ledger.reused += len(self._told)
        for result in self._frontier.in_plan_order().values():
            if result.step not in self._told:  # skipped by what is known, and not written down before the run was interrupted
                await self._write_down(result)
        while self._frontier.ready:
            await self._work_on()
            await self._ledger.catch_up()
            for waiting in tuple(self._waiting):
                if waiting in self._ledger.state.answers:
                    self._take_up(waiting)
        results = self._frontier.in_plan_order()
        if self._waiting:
            return Suspended(results=results, waiting=tuple(self._waiting.values()))
        return Settled(results=results, finished=self._digests(_succeeded), unfinished=self._digests(_is_open))

    async def _work_on(self) -> None:
        """Do what can be done now, and what answers allow that come meanwhile."""

        def hear(recorded: Recorded) -> None:
            if isinstance(recorded.event, Answered) and self._workers and self._take_up(recorded.event.waiting):
                group.start_soon(self._worker, group)

        with self._ledger.listening(hear), sole_error():
            async with anyio.create_task_group() as group:
                group.start_soon(self._worker, group)

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

    async def _worker(self, group: TaskGroup) -> None:
        """Does one ready step after another. Where more are ready than it can do at once, it calls for one more worker."""
        self._workers += 1
        while (step := self._frontier.take()) is not None:
            if self._frontier.ready:
                group.start_soon(self._worker, group)
            ended = await self._turn(step)
            if isinstance(ended, tuple):
                await self._pause(step, ended)
            elif ended is not None:
                await self._settle(ended)
            await anyio.lowlevel.checkpoint()  # steps that never wait must not keep the others from being heard
        self._workers -= 1

    async def _pause(self, step: AnyStep, waits: tuple[Waiting, ...]) -> None:
        self._paused[step.id] = anyio.current_time()
        self._frontier.pause(step.id)
        for waiting in waits:
            if waiting.id not in self._ledger.state.paused:
                await self._ledger.record(StepPaused(waiting=waiting))
            self._waiting[waiting.id] = waiting
        for waiting in waits:
            if waiting.id in self._ledger.state.answers:  # it came in the meantime
                self._take_up(waiting.id)

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
        if isinstance(step, MapStep | PlanStep):
            return await self._open(step)
        ended = await self._work.do(step, self._sight(step))
        return ended if isinstance(ended, tuple) else await self._checked(ended)

    def _closed(self, step: AnyStep) -> StepResult | None:
        """The end of a step that is not begun: its condition does not hold, or there is no time left for it."""
        over = [whole for whole in self._frontier.around(step.id) if self._deadlines.get(whole, inf) <= anyio.current_time()]
        if over:
            return failed(step, StepTimedOut(self._consist[over[0]].timeout or 0.0))
        try:
            if step.when is None or self._sights[step.id].holds(step.when):
                return None
        except FAILS_A_STEP as error:
            return failed(step, error)
        return Skipped(step=step.id, because_of=step.id, reason=f"it does not hold that {step.when}", untaken=True)

    async def _begin(self, step: AnyStep) -> None:
        scope, attempt = self._tries[step.id].scope, self._tries[step.id].attempt
        if (scope, attempt) not in self._ledger.state.starts:
            await self._ledger.record(
                StepStarted(
                    step=step.id,
                    step_kind=step.kind,
                    scope=scope,
                    attempt=attempt,
                    task=step.about,
                    model=self._work.model_name(step),
                )
            )

    def _sight(self, step: AnyStep) -> Sight:
        """What the step sees, and how its calls are told from others."""
        sight, this = self._sights[step.id], self._tries[step.id]
        now, seconds = anyio.current_time(), self._work.seconds(step, sight.plan.limits)
        around = (self._deadlines.get(whole, inf) for whole in self._frontier.around(step.id))
        call = Call(
            run=self._ledger.run,
            scope=this.scope,
            attempt=this.attempt,
            label=step.id,
            rank=self._frontier.rank(step.id),
            deadline=min(now + seconds, *around, inf) if seconds is not None else None,
            in_doubt=step.in_doubt,
            queued=partial(self._queued, step.id),
        )
        return replace(sight, call=call)

    async def _open(self, step: MapStep | PlanStep) -> StepResult | None:
        """Put in what the step consists of. What the ledger knows of that is not done again."""
        try:
            opened = parts_of(step, self._sights[step.id], self._tries[step.id].digest)
        except FAILS_A_STEP as error:
            return await self._checked(failed(step, error))
        tries = {each.part.step.id: self._try(each.digest) for each in opened}
        self._tries |= tries
        self._sights |= {each.part.step.id: each.sight for each in opened}
        self._consist[step.id] = step
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
        )
        for each in skipped:
            if each.step not in known:
                await self._write_down(each)
        return None

    def _gathered(self, step: MapStep | PlanStep) -> StepResult:
        try:
            return gathered(step, self._sights[step.id], self._frontier.parts(step.id))
        except FAILS_A_STEP as error:
            return failed(step, error)

    def _try(self, digest: str) -> Try:
        return Try(digest, self._attempts.get(digest, 1))

    def _known(self, tries: Mapping[str, Try]) -> dict[str, StepResult]:
        """The ends that the ledger knows, under the names that the steps have here."""
        ends = {step_id: self._ledger.state.steps.get((this.scope, this.attempt)) for step_id, this in tries.items()}
        return {step_id: replace(end, step=step_id) for step_id, end in ends.items() if end is not None}

    def _begun(self, tries: Mapping[str, Try]) -> list[str]:
        return [step_id for step_id, this in tries.items() if (this.scope, this.attempt) in self._ledger.state.starts]

    def _digests(self, wanted: Callable[[StepResult], bool]) -> tuple[str, ...]:
        return tuple(self._tries[step_id].digest for step_id, end in self._frontier.results.items() if wanted(end))

    async def _checked(self, result: StepResult) -> StepResult:
        try:
            return await self._hooks.after_step(result)
        except DeniedByHook as denial:
            return refused(result, denial)

    def _queued(self, step_id: str, waited: float | None) -> None:
        queued = StepQueued(step=step_id) if waited is None else StepAdmitted(step=step_id, waited=waited)
        self._ledger.glimpse(queued)

    async def _settle(self, result: StepResult) -> None:
        await self._write_down(result)
        for skipped in self._frontier.settle(result):
            await self._write_down(skipped)

    async def _write_down(self, result: StepResult) -> None:
        """The one way a step ends: written first, then announced."""
        this = self._tries[result.step]
        await self._ledger.record(StepEnded(scope=this.scope, attempt=this.attempt, result=result))


def same_place(rewritten: AnyStep, step: AnyStep) -> AnyStep:
    """The step as a hook left it. The graph is fixed by now: a hook that moves the step in it has refused it."""
    if (rewritten.id, tuple(rewritten.depends_on)) != (step.id, tuple(step.depends_on)):
        raise DeniedByHook(f"step {step.id!r}", "it changed the step's id or dependencies")
    return rewritten


def _succeeded(end: StepResult) -> bool:
    return isinstance(end, Succeeded)


def _is_open(end: StepResult) -> bool:
    return not isinstance(end, Succeeded) and not (isinstance(end, Skipped) and end.untaken)
