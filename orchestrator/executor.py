"""Walks a plan to its end, without barriers: a step starts when its own dependencies are done."""

from collections.abc import Iterable, Mapping

from orchestrator.hooks import Hook, as_one
from orchestrator.interrupts import InterruptQueue
from orchestrator.ledger import Ledger, private_ledger
from orchestrator.limits import Limits
from orchestrator.spending.purse import Purse
from orchestrator.steps import StepWork
from orchestrator.walked import Settled, Suspended
from orchestrator.walking import Walk
from planner import Plan
from planner.past import Past
from registry.messages import Json
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Tool

__all__ = ["DAGExecutor", "Settled", "Suspended"]


class DAGExecutor:
    """Walks plans. Without a `ledger` each walk keeps its own, in memory. What a whole run may spend is held by its `purse`."""

    def __init__(
        self,
        models: ModelRegistry | Model,
        tools: ToolRegistry | Iterable[Tool] = (),
        *,
        ledger: Ledger | None = None,
        hooks: Hook | None = None,
        limits: Limits | None = None,
        interrupts: InterruptQueue | None = None,
        purse: Purse | None = None,
    ) -> None:
        self._models = models if isinstance(models, ModelRegistry) else ModelRegistry(models)
        self._tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self._ledger = ledger
        self._hooks = as_one(hooks)
        self._limits = limits or Limits()
        self._interrupts = interrupts or InterruptQueue()
        self._purse = purse

    async def walk(
        self,
        plan: Plan,
        *,
        inputs: Mapping[str, Json] | None = None,
        attempts: Mapping[str, int] | None = None,
        past: Past | None = None,
    ) -> Settled | Suspended:
        """Do every step of the plan that can be done.

        What the ledger knows to be finished is not done again, whether an earlier round did it or an earlier life of the run.
        `attempts` says by content digest which try a step is at, where that is not the first. `past` is how long such
        steps took before: those that most waits for go first.
        """
        ledger = self._ledger or await private_ledger()
        work = StepWork(
            self._models,
            self._tools,
            ledger=ledger,
            hooks=self._hooks,
            limits=self._limits,
            interrupts=self._interrupts,
            purse=self._purse,
        )
        walk = Walk(plan, inputs or {}, attempts or {}, past or {}, work=work, ledger=ledger, hooks=self._hooks)
        return await walk.to_the_end()
