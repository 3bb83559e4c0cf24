"""Whether a plan may be walked: within the caps that were set, and with a person's yes where they want to be asked."""

import sys
from collections.abc import Mapping

import anyio

from orchestrator.cli.checking import known_of
from orchestrator.cli.drawing import drawn
from orchestrator.cli.forecasting import excess, experience_of, forecast_lines, forecast_of, past_of
from orchestrator.cli.options import Options
from orchestrator.cli.view.revision import Revisions
from orchestrator.cli.view.text import harmless
from orchestrator.cli.world import World
from orchestrator.errors import DeniedByHook
from orchestrator.hooks import Hook
from orchestrator.journal.protocol import Journal
from orchestrator.limits import Limits
from orchestrator.settings import Settings
from planner import Plan, check
from planner.diff import plan_diff
from planner.forecast import Forecast
from registry.messages import Json
from registry.tools.registry import ToolRegistry


class NotBegun(DeniedByHook):
    """A plan that takes more than it may, or that nobody said yes to."""

    def __init__(self, why: str) -> None:
        super().__init__("the plan", why)
        self.args = (f"the plan is not begun: {why}",)


class Consent(Hook):
    """Asked before every plan of a run, revised ones too. `inputs` are those given to the run."""

    def __init__(
        self,
        world: World,
        settings: Settings,
        options: Options,
        *,
        limits: Limits,
        tools: ToolRegistry,
        inputs: Mapping[str, Json],
        journal: Journal,
    ) -> None:
        self._world, self._settings, self._options, self._limits = world, settings, options, limits
        self._tools, self._inputs, self._journal = tools, inputs, journal
        self._revisions = Revisions()
        self._asked_last: Plan | None = None
        self._times = 0

    async def on_plan(self, plan: Plan) -> Plan:
        ahead = await self._ahead(plan)
        if why := excess(ahead, self._options):
            raise NotBegun(why)
        if self._options.confirm:
            await self._ask(plan, ahead)
        return plan

    async def _ahead(self, plan: Plan) -> Forecast:
        settings, options = self._settings, self._options
        past = await past_of(self._journal, plan, self._inputs, settings, options)
        experience, now = experience_of(plan, past, self._inputs, settings, options), self._world.ports.now()
        return forecast_of(plan, settings, options, now=now, limits=self._limits, experience=experience)

    async def _ask(self, plan: Plan, ahead: Forecast) -> None:
        """Raises `NotBegun` for anything but a yes. Of a plan that can't be done nobody is asked: it will be refused with why."""
        findings = check(plan, known_of(self._settings, self._options, self._tools, self._inputs))
        if any(found.severity == "error" for found in findings):
            return
        told = (*self._changes(plan), *map(str, findings))
        print("\n".join((drawn(plan, "tree").rstrip(), *map(harmless, told), *forecast_lines(ahead))), file=sys.stderr)
        print("go on? [y/N] ", end="", file=sys.stderr, flush=True)
        if not await _said_yes():
            raise NotBegun("nobody said yes to it")

    def _changes(self, plan: Plan) -> tuple[str, ...]:
        """What is new in the plan since the last question, nothing before the first one."""
        before, self._asked_last, self._times = self._asked_last, plan, self._times + 1
        diff = {} if before is None else plan_diff(before, plan)
        return tuple(self._revisions.lines({"plan": plan.model_dump(mode="json"), "round": self._times, "diff": diff}))


async def _said_yes() -> bool:
    if sys.stdin.isatty():  # a person may take their time, and Ctrl-C is to be heard meanwhile
        await anyio.wait_readable(sys.stdin)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
