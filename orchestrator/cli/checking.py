"""`dagwright check`: what is wrong with a plan file."""

from dataclasses import asdict
from pathlib import Path

import orjson

from orchestrator.cli.asked import read_draft, read_inputs
from orchestrator.cli.ending import ACHIEVED, NOT_ACHIEVED
from orchestrator.cli.options import Options
from orchestrator.cli.toolbox import toolbox
from orchestrator.cli.world import World
from orchestrator.settings import Settings
from orchestrator.wiring import hints
from planner import Diagnostic, Draft, Known, PlanError, check


def check_plan(world: World, path: Path, options: Options) -> int:
    """One line for each finding, or one that says that all is well. Connects to nothing. Returns the exit code."""
    settings = world.settings(options.config)
    try:
        draft = read_draft(path)
        findings = _findings(world, draft, settings, options, path.parent)
    except PlanError as error:
        draft, findings = Draft(), error.diagnostics
    sound = not any(found.severity == "error" for found in findings)
    if options.as_json:
        report = {"ok": sound, "steps": len(draft.steps), "diagnostics": [asdict(found) for found in findings]}
        print(orjson.dumps(report).decode())
    else:
        for found in findings:
            print(found)
        if sound:
            print(f"ok: {len(draft.steps)} step{'' if len(draft.steps) == 1 else 's'}")
    return ACHIEVED if sound else NOT_ACHIEVED


def _findings(world: World, draft: Draft, settings: Settings, options: Options, folder: Path) -> tuple[Diagnostic, ...]:
    tools = toolbox(options.tools, folder, world.ports)
    inputs, misfits = read_inputs(draft, options.inputs)
    known = Known(
        tools=frozenset(tools.names),
        hints=frozenset(hints(settings, options.models)),
        inputs=inputs,
    )
    found = check(draft, known)
    if not options.inputs:  # without values the plan alone is asked about, not a run of it
        found = tuple(one for one in found if one.code != "P011")
    return found + misfits
