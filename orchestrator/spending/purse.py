"""The purse of one run: what its calls are paid from, and how it lands when there is little left."""

from functools import partial

import anyio
from msgspec.structs import replace

from orchestrator.errors import BudgetExhausted
from orchestrator.events.spending import BudgetDrawn, LandingBegan, ModelChosen
from orchestrator.ledger import Ledger
from orchestrator.spending.accounts import Account, account
from orchestrator.spending.landing import kept, nearest, over
from orchestrator.spending.nested import spent_inside
from planner import AnyStep, JudgeCheck, PlanStep, Step
from planner.plan.base import WorkStep
from planner.results import Skipped
from registry.budget import Budget
from registry.calls import Call
from registry.errors import unit_of
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.usage import Kind


class Purse:
    """What a run may spend. The answer is paid from `whole`; the verdict and all other work leave something of that.

    Every request is written down before it leaves, so that a run never makes more than it may, however often it is cut off.
    `models` are the run's, of which each request is paid for.
    """

    def __init__(self, ledger: Ledger, models: ModelRegistry, past: Account, *, judged: bool) -> None:
        from orchestrator.spending.models import paying  # which runs without limits need not import

        self.models = paying(models)
        self._ledger, self._told = ledger, past.near is not None
        self._inside: dict[str, Budget] = {}
        limits, now = past.limits, anyio.current_time()
        since, kept_back = now - past.seconds, kept(limits, judged=judged)
        self.whole = Budget(limits, since=now, unpriced=past.unpriced, note=self._note)
        self.whole.spent(past.usage, seconds=past.seconds)
        inside = partial(self.whole.within, since=since, whose=self.whole.whose)
        self.verdict = inside(kept_back.verdict, leaving=kept_back.by_verdict)
        self.work = inside(kept_back.steps, leaving=kept_back.by_steps, note=self.land)

    async def land(self, _: str = "") -> Kind | None:
        """Tell that the run must come to its end, once, if it must: little is left of what its steps may spend, or there was too
        little for a request, that was given up. Returns the limit."""
        used = self.work.used(anyio.current_time())
        near = nearest(used) or self.whole.short
        if near is not None and not self._told:
            self._told = True
            await self._ledger.record(LandingBegan(limit=near, used=used[near]))
        return near

    def of(self, step: str) -> Budget:
        """What the calls of a step are paid from: the budget of the innermost plan around it that has one, or the run's."""
        while self._inside and "/" in step:
            step = step.rpartition("/")[0]
            if step in self._inside:
                return self._inside[step]
        return self.work

    def open(self, step: PlanStep) -> None:
        """The plan inside this step begins, and what is spent in it counts within its own limits, too."""
        limits = step.plan.limits.budget
        if limits.kinds:
            self._inside[step.id] = self.of(step.id).within(limits, since=anyio.current_time(), whose=f"step {step.id!r}")
            self._inside[step.id].spent(spent_inside(self._ledger.facts, step.id))

    def closed(self, step: AnyStep) -> Skipped | None:
        """The end of a step that is not to begin any more: it is optional, or there is too little left for one that costs."""
        budget = self.of(step.id)
        used = budget.used(anyio.current_time())
        kind = over(used)
        if kind is not None and (kind == "seconds" or _asks_models(step)):
            return Skipped(step=step.id, because_of=step.id, reason=str(BudgetExhausted(kind, budget.bound_by(kind))))
        kind = nearest(used)
        if kind is not None and step.optional:
            reason = f"it is optional, and {budget.bound_by(kind)} has spent {used[kind]:.0%} of its {unit_of(kind)}"
            return Skipped(step=step.id, because_of=step.id, reason=reason)
        return None

    async def model(self, own: Model, call: Call) -> Model:
        """The model of a try at a step: its own, or near the end a cheaper one. It stays the same once it has replied."""
        chosen = self._ledger.state.chosen.get((call.scope, call.attempt))
        if chosen is not None and chosen in self.models.names:
            return self.models.model(chosen)
        near = nearest(self.of(call.label).used(anyio.current_time()))
        if near is None or any(self._ledger.answered(each) for each in (call, replace(call, purpose="selection"))):
            return own
        from orchestrator.spending.models import cheaper

        other = cheaper(own, self.models)
        if other.name == own.name:
            return own
        await self._ledger.record(ModelChosen(scope=call.scope, attempt=call.attempt, step=call.label, model=other.name))
        return other

    async def close(self) -> None:
        """Write down what is spent by now."""
        if self.whole.short is not None:
            await self.land()
        await self._note("")

    async def _note(self, label: str) -> None:
        spent, held = self.whole.spending
        seconds, estimated = self.whole.seconds(anyio.current_time()), self.whole.estimated
        await self._ledger.record(BudgetDrawn(step=label, spent=spent, held=held, seconds=seconds, estimated=estimated))


async def open_purse(ledger: Ledger, models: ModelRegistry, *, judged: bool) -> Purse | None:
    """The purse of a run, with what its earlier lives have spent; None for a run without limits.

    `judged` says whether a model is asked for a verdict.
    """
    past = account(ledger.facts)
    if past is None:
        return None
    purse = Purse(ledger, models, past, judged=judged)
    await purse.close()
    return purse


def _asks_models(step: AnyStep) -> bool:
    """Whether the step itself asks a model. What it may consist of has turns of its own."""
    return isinstance(step, Step) or (isinstance(step, WorkStep) and isinstance(step.verify, JudgeCheck))
