"""Whether a plan may be walked: within the caps that were set, and with a person's yes where they want to be asked."""

import sys
from collections.abc import Mapping

import anyio

from orchestrator.cli.checking import known_of
from orchestrator.cli.drawing import drawn
from orchestrator.cli.forecasting import excess, forecast_lines, forecast_of
from orchestrator.cli.options import Options
from orchestrator.cli.view.text import harmless
from orchestrator.cli.world import World
from orchestrator.errors import DeniedByHook
from orchestrator.hooks import Hook
from orchestrator.limits import Limits
from orchestrator.settings import Settings
from planner import Plan, check
from planner.forecast import Forecast
from registry.messages import Json
from registry.tools.registry import ToolRegistry


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
    ) -> None:
        self._world, self._settings, self._options, self._limits = world, settings, options, limits
        self._tools, self._inputs = tools, inputs

    async def on_plan(self, plan: Plan) -> Plan:
        now = self._world.ports.now()
        ahead = forecast_of(plan, self._settings, self._options, now=now, limits=self._limits)
        if why := excess(ahead, self._options):
            raise DeniedByHook("the plan", why)
        if self._options.confirm:
            self._show(plan, ahead)
            if not await _said_yes():
                raise DeniedByHook("the plan", "nobody said yes to it")
        return plan

    def _show(self, plan: Plan, ahead: Forecast) -> None:
        findings = check(plan, known_of(self._settings, self._options, self._tools, self._inputs))
        shown = (drawn(plan, "tree").rstrip(), *(harmless(str(found)) for found in findings), *forecast_lines(ahead))
        print("\n".join(shown), file=sys.stderr)
        print("go on? [y/N] ", end="", file=sys.stderr, flush=True)


async def _said_yes() -> bool:
    if sys.stdin.isatty():  # a person may take their time, and Ctrl-C is to be heard meanwhile
        await anyio.wait_readable(sys.stdin)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
