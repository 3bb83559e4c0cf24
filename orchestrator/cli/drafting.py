"""`dagwright plan` and `schema`: a plan to look at, to change and to run, and the schema that any plan fits."""

import sys
from functools import partial
from pathlib import Path

import orjson

from orchestrator.cli.asked import goal_text
from orchestrator.cli.ending import ACHIEVED, INTERRUPTED, say
from orchestrator.cli.limiting import only_embedded
from orchestrator.cli.options import Options
from orchestrator.cli.toolbox import toolbox
from orchestrator.cli.world import World, in_a_loop
from orchestrator.logs import show_logs
from planner import DAGPlanner, Diagnostic, Known, Plan, check, write_plan
from planner.files.schema import plan_schema
from registry.calls import Call


def draft_plan(world: World, argument: str, options: Options) -> int:
    """Prints the plan on stdout, and what was mended or is odd in it on stderr. Returns the exit code."""
    if options.verbose:
        show_logs()
    drafted = in_a_loop(partial(_drafted, world, goal_text(argument), options))
    if drafted is None:
        say("interrupted")
        return INTERRUPTED
    plan, findings = drafted
    for diagnostic in findings:
        print(diagnostic, file=sys.stderr)
    print(write_plan(plan), end="")
    return ACHIEVED


def print_schema() -> int:
    """Prints the JSON Schema of plan files. Returns the exit code."""
    print(orjson.dumps(plan_schema(), option=orjson.OPT_INDENT_2).decode())
    return ACHIEVED


async def _drafted(world: World, goal: str, options: Options) -> tuple[Plan, tuple[Diagnostic, ...]]:
    tools = toolbox(options.tools, options.root or Path(), world.ports, asking=not only_embedded(options))
    async with world.models(world.settings(options.config), options.models) as models:
        call = Call(scope="plan/1", purpose="plan", label="plan")
        today = world.ports.now().date().isoformat()
        planner = DAGPlanner(models.model("planning"))
        planned = await planner.plan(goal, today=today, tools=tools.specs, hints=models.hints, call=call)
        known = Known.of(tools, models.by_hint, {})
        return planned.plan, (*planned.diagnostics, *check(planned.plan, known))
