"""Walks a plan to its end, without barriers: a step starts when its own dependencies are done."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from orchestrator.errors import DeniedByHook
from orchestrator.events.facts import Answered, StepEnded, StepPaused, StepStarted
from orchestrator.events.glimpses import StepAdmitted, StepQueued
from orchestrator.events.recorded import Recorded
from orchestrator.frontier import Frontier
from orchestrator.hooks import Hook, as_one
from orchestrator.interrupts import InterruptQueue
from orchestrator.ledger import Ledger, private_ledger
from orchestrator.limits import Limits
from orchestrator.steps import Sight, StepEnd, StepWork, failed, refused
from orchestrator.unwrapping import sole_error
from orchestrator.waiting import Waiting
from planner import AnyStep, Plan
from planner.identity import step_digests
from planner.results import Results, StepResult, Succeeded
from registry.calls import Call
from registry.messages import Json
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Every step has its result, in plan order. `unfinished` are the content digests of those that did not succeed."""

    results: Results
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


class DAGExecutor:
    """Walks plans. Without a `ledger` each walk keeps its own, in memory."""

    def __init__(
        self,
        models: ModelRegistry | Model,
        tools: ToolRegistry | Iterable[Tool] = (),
        *,
        ledger: Ledger | None = None,
        hooks: Hook | None = None,
        limits: Limits | None = None,
        interrupts: InterruptQueue | None = None,
    ) -> None:
        self._models = models if isinstance(models, ModelRegistry) else ModelRegistry(models)
        self._tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self._ledger = ledger
        self._hooks = as_one(hooks)
        self._limits = limits or Limits()
        self._interrupts = interrupts or InterruptQueue()

    async def walk(
        self, plan: Plan, *, inputs: Mapping[str, Json] | None = None, attempts: Mapping[str, int] | None = None
    ) -> Settled | Suspended:
        """Do every step of the plan that can be done.

        What the ledger knows to be finished is not done again, whether an earlier round did it or an earlier life of the run.
        `attempts` says by content digest which try a step is at, where that is not the first.
        """
        ledger = self._ledger or await private_ledger()
        work = StepWork(
            self._models,
            self._tools,
            ledger=ledger,
            hooks=self._hooks,
            limits=self._limits,
            interrupts=self._interrupts,
        )
        inputs = plan.values(inputs or {})
        digests = step_digests(plan, inputs)
        tries = {step_id: Try(digest, (attempts or {}).get(digest, 1)) for step_id, digest in digests.items()}
        return await _Walk(plan, inputs, tries, work=work, ledger=ledger, hooks=self._hooks).to_the_end()


class _Walk:
    """One walk of one plan."""

    def __init__(
        self,
        plan: Plan,
        inputs: Mapping[str, Json],
        tries: Mapping[str, Try],
        *,
        work: StepWork,
        ledger: Ledger,
        hooks: Hook,
    ) -> None:
        self._plan, self._inputs, self._tries = plan, inputs, tries
        self._work, self._ledger, self._hooks = work, ledger, hooks
        self._waiting: dict[str, Waiting] = {}
        self._workers = 0
        self._known = {
            step_id: replace(ledger.state.steps[this.scope, this.attempt], step=step_id)
            for step_id, this in tries.items()
            if (this.scope, this.attempt) in ledger.state.steps
        }
        begun = [step_id for step_id, this in tries.items() if (this.scope, this.attempt) in ledger.state.starts]
        self._frontier = Frontier(plan, self._known, begun=begun)

    async def to_the_end(self) -> Settled | Suspended:
        self._ledger.reused += len(self._known)
        for step_id, result in self._frontier.in_plan_order().items():
            if step_id not in self._known:  # skipped by what is known, and not written down before the run was interrupted
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
        unfinished = tuple(self._tries[name].digest for name, end in results.items() if not isinstance(end, Succeeded))
        return Settled(results=results, unfinished=unfinished)

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
        self._ledger.rewind(self._tries[answered.step].scope)
        self._frontier.again(answered.step)
        return True

    async def _worker(self, group: TaskGroup) -> None:
        """Does one ready step after another. Where more are ready than it can do at once, it calls for one more worker."""
        self._workers += 1
        while (step := self._frontier.take()) is not None:
            if self._frontier.ready:
                group.start_soon(self._worker, group)
            ended = await self._do(step)
            if isinstance(ended, tuple):
                await self._pause(ended)
            else:
                await self._settle(ended)
            await anyio.lowlevel.checkpoint()  # steps that never wait must not keep the others from being heard
        self._workers -= 1

    async def _pause(self, waits: tuple[Waiting, ...]) -> None:
        for waiting in waits:
            if waiting.id not in self._ledger.state.paused:
                await self._ledger.record(StepPaused(waiting=waiting))
            self._waiting[waiting.id] = waiting
        for waiting in waits:
            if waiting.id in self._ledger.state.answers:  # it came in the meantime
                self._take_up(waiting.id)

    async def _do(self, step: AnyStep) -> StepEnd:
        try:
            step = same_place(await self._hooks.before_step(step), step)
        except DeniedByHook as denial:
            return failed(step, denial)
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
        call = Call(
            run=self._ledger.run,
            scope=scope,
            attempt=attempt,
            label=step.id,
            rank=self._frontier.rank(step.id),
            deadline=anyio.current_time() + self._work.seconds(step),
            in_doubt=step.in_doubt,
            queued=partial(self._queued, step.id),
        )
        sight = Sight(plan=self._plan, inputs=self._inputs, results=self._frontier.results, call=call)
        ended = await self._work.do(step, sight)
        return ended if isinstance(ended, tuple) else await self._checked(ended)

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
