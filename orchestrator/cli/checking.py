"""`dagwright check`: what is wrong with a plan file."""

from collections.abc import Mapping
from pathlib import Path

import orjson
from msgspec import to_builtins
from msgspec.structs import replace

from orchestrator.cli.asked import read_inputs, read_written
from orchestrator.cli.ending import ACHIEVED, NOT_ACHIEVED
from orchestrator.cli.options import Options
from orchestrator.cli.toolbox import toolbox
from orchestrator.cli.view.text import counted, harmless
from orchestrator.cli.world import World
from orchestrator.settings import Settings
from orchestrator.wiring import hints, offered
from planner import Diagnostic, Draft, Known, PlanError, check
from registry.messages import Json
from registry.tools.registry import ToolRegistry


def check_plan(world: World, path: Path, options: Options) -> int:
    """One line for each finding, or one that says that all is well. Connects to nothing. Returns the exit code."""
    settings = world.settings(options.config)
    tools = toolbox(options.tools, path.parent, world.ports)
    try:
        written = read_written(path)
        draft, findings = written.draft, written.located(_findings(written.draft, settings, options, tools))
    except PlanError as error:
        draft, findings = Draft(), error.diagnostics
    sound = not any(found.severity == "error" for found in findings)
    if options.as_json:
        report = {"ok": sound, "steps": len(draft.steps), "diagnostics": to_builtins(findings)}
        print(orjson.dumps(report).decode())
    else:
        for found in findings:
            print(harmless(str(found)))
        if sound:
            warned = f", {counted(len(findings), 'warning')}" if findings else ""
            print(f"ok: {counted(len(draft.steps), 'step')}{warned}")
    return ACHIEVED if sound else NOT_ACHIEVED


def known_of(settings: Settings, options: Options, tools: ToolRegistry, inputs: Mapping[str, Json]) -> Known:
    """What a run with these options would have, before anything is connected."""
    known = Known.of(tools, offered(settings, options.models), inputs)
    return replace(known, hints=frozenset(hints(settings, options.models)))


def _findings(draft: Draft, settings: Settings, options: Options, tools: ToolRegistry) -> tuple[Diagnostic, ...]:
    inputs, misfits = read_inputs(draft, options.inputs)
    found = check(draft, known_of(settings, options, tools, inputs))
    if not options.inputs:  # without values the plan alone is asked about, not a run of it
        found = tuple(one for one in found if one.code != "P011" or not one.place.startswith("/inputs/"))
    return found + misfits
