"""A goal in, an answer out."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from orchestrator.accepted import Accepted, begin
from orchestrator.errors import LoopRunning
from orchestrator.hooks import CompositeHook, Hook
from orchestrator.interrupts import InterruptQueue
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journal.protocol import Journal
from orchestrator.ledger import Ledger, open_ledger, reopen_ledger
from orchestrator.limits import Limits
from orchestrator.logs import report
from orchestrator.ports import Ports
from orchestrator.run import Answer, Run
from orchestrator.spending.purse import open_purse
from orchestrator.toolsets import Toolset, with_toolsets
from orchestrator.unwrapping import sole_error
from planner import Plan
from registry.budget import WhenUnpriced
from registry.messages import Json
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Tool


class Orchestrator:
    """Turns a goal into a plan, does its steps side by side, and merges what they found into one answer.

    `models` is one model for everything, or a registry with a model for each role. `tools` are all that any step may use, and
    `toolsets` open more for each run.
    Where money is limited, a run does not begin with models that nobody knows the price of, unless `unpriced` is "allow".
    Runs are independent of each other and may go on at once. Opens no socket, starts no process, reads no environment.
    """

    def __init__(
        self,
        models: ModelRegistry | Model,
        *,
        tools: ToolRegistry | Iterable[Tool | Callable[..., Any]] = (),
        toolsets: Iterable[Toolset] = (),
        hooks: Iterable[Hook] = (),
        limits: Limits | None = None,
        unpriced: WhenUnpriced = "refuse",
        journal: Journal | None = None,
        ports: Ports | None = None,
    ) -> None:
        self.models = models if isinstance(models, ModelRegistry) else ModelRegistry(models)
        self.tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self._toolsets = tuple(toolsets)
        self.limits, self._unpriced = limits or Limits(), unpriced
        self.journal: Journal = journal or MemoryJournal()
        self.ports = ports or Ports()
        self._hooks = CompositeHook(tuple(hooks), report=report)

    async def run(self, goal: str | Plan, *, inputs: Mapping[str, Json] | None = None) -> Answer:
        """Meet a goal, or do a submitted plan.

        Raises `PlanError` when there is no plan that can be run, and the `ModelError` that left the run without a plan or a
        verdict.
        """
        async with self.open(goal, inputs=inputs) as run:
            return await run.answer()

    def run_sync(self, goal: str | Plan, *, inputs: Mapping[str, Json] | None = None) -> Answer:
        """`run` for programs without an event loop. Raises `LoopRunning` inside one."""
        return _run_in_a_loop_of_its_own(lambda: self.run(goal, inputs=inputs))

    async def resume(self, run_id: str) -> Answer:
        """Go on with a run of the journal as if nothing had happened.

        Raises `UnknownRun`, `RunHeld` while somebody works on it, and `RunCancelled`.
        """
        async with self.open_again(run_id) as run:
            return await run.answer()

    @asynccontextmanager
    async def open(
        self, goal: str | Plan, *, inputs: Mapping[str, Json] | None = None, setup: Mapping[str, Json] | None = None
    ) -> AsyncIterator[Run]:
        """A run to follow while it goes on: `async with orchestrator.open(goal) as run: async for event in run.events: ...`.

        Leaving the block before the end interrupts the run. `setup` is written down with it, for whoever is to begin it again.
        Raises `ConfigurationError` where the run may not begin: nothing is written down then.
        """
        from orchestrator.spending.models import refuse_unpriced  # models that are connected have imported its like already

        today = self.ports.now().date().isoformat()
        accepted = Accepted.of(goal, inputs or {}, today=today, setup=setup or {}, limits=self.limits, unpriced=self._unpriced)
        refuse_unpriced(self.models, accepted.all_limits, accepted.unpriced)
        ledger = await open_ledger(self.journal, self.ports.new_id(), self.ports)
        async with self._living(ledger, accepted) as run:
            yield run

    @asynccontextmanager
    async def open_again(self, run_id: str) -> AsyncIterator[Run]:
        """`open` for a run that the journal knows: its events are told again from the first one on."""
        ledger = await reopen_ledger(self.journal, run_id, self.ports)
        async with self._living(ledger, Accepted.again(ledger.state, run_id)) as run:
            yield run

    @asynccontextmanager
    async def _living(self, ledger: Ledger, accepted: Accepted) -> AsyncIterator[Run]:
        from orchestrator.story import Story  # which brings in all that does a run

        interrupts = InterruptQueue()

        async def told(tools: ToolRegistry) -> Answer:
            judged = accepted.plan is None or self.limits.submitted_rounds > 1
            purse = await open_purse(ledger, self.models, judged=judged)
            story = Story(
                accepted,
                ledger,
                self.journal,
                models=self.models if purse is None else purse.models,
                tools=tools,
                hooks=self._hooks,
                limits=self.limits,
                interrupts=interrupts,
                purse=purse,
            )
            return await story.tell()

        async def lived() -> Answer:
            await begin(accepted, ledger)
            return await with_toolsets(self._toolsets, self.tools, told)

        run = Run(ledger, interrupts)
        with sole_error():
            async with anyio.create_task_group() as group:
                group.start_soon(run.live, lived)
                yield run
                group.cancel_scope.cancel()


def _run_in_a_loop_of_its_own(main: Callable[[], Any]) -> Answer:
    try:
        anyio.lowlevel.current_token()
    except RuntimeError:
        return anyio.run(main)  # type: ignore[no-any-return]
    raise LoopRunning()
