"""`dagwright plan`: a plan to look at, to change and to run."""

import sys
from functools import partial
from pathlib import Path

from orchestrator.cli.asked import goal_text
from orchestrator.cli.ending import ACHIEVED, INTERRUPTED, say
from orchestrator.cli.options import Options
from orchestrator.cli.toolbox import toolbox
from orchestrator.cli.world import World, in_a_loop
from orchestrator.logs import show_logs
from planner import DAGPlanner, Planned, write_plan
from registry.calls import Call


def draft_plan(world: World, argument: str, options: Options) -> int:
    """Prints the plan on stdout, and what had to be mended in it on stderr. Returns the exit code."""
    if options.verbose:
        show_logs()
    planned = in_a_loop(partial(_drafted, world, goal_text(argument), options))
    if planned is None:
        say("interrupted")
        return INTERRUPTED
    for diagnostic in planned.diagnostics:
        print(diagnostic, file=sys.stderr)
    print(write_plan(planned.plan), end="")
    return ACHIEVED


async def _drafted(world: World, goal: str, options: Options) -> Planned:
    tools = toolbox(options.tools, options.root or Path(), world.ports)
    async with world.models(world.settings(options.config), options.models) as models:
        call = Call(scope="plan/1", purpose="plan", label="plan")
        today = world.ports.now().date().isoformat()
        planner = DAGPlanner(models.model("planning"))
        return await planner.plan(goal, today=today, tools=tools.specs, hints=models.hints, call=call)
