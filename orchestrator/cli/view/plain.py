"""A run as plain lines, for logs, pipes and terminals that can't redraw."""

import json
from collections.abc import Iterator, Mapping
from typing import TextIO

from orchestrator.cli.view.revision import Revisions, with_needs
from orchestrator.cli.view.screen import Screen
from orchestrator.cli.view.text import counted, listed, one_line, seconds_told, tokens_told
from orchestrator.cli.view.waits import WANTS
from orchestrator.events.project import ChannelMessage, Projection
from registry.messages import Json

FINDINGS = 6
"""Findings of a plan that are shown one by one."""

CONSISTING = ("map", "plan")
"""Kinds of steps that consist of others: those do the work, and run beside each other."""

WIDTH = 160
"""Characters of a line at most; what models and tools wrote is cut to it."""


class PlainLines(Screen):
    """One line for each phase, plan, message of the user, step begun and ended, and tool called. The answer is not among them."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._revisions = Revisions()
        self._running: dict[str, None] = {}
        self._asked: dict[str, str] = {}

    def show(self, projection: Projection) -> None:
        for message in projection.messages:
            for line in self._lines(message):
                self._err.write(one_line(line, limit=WIDTH) + "\n")
        self._err.flush()

    def _lines(self, message: ChannelMessage) -> Iterator[str]:
        payload = message.payload
        match message.channel:
            case "phase":
                yield payload["phase"].replace("_", " ")
            case "plan":
                yield plan_line(payload)
                yield from self._revisions.lines(payload)
                yield from diagnostic_lines(payload)
            case "inject":
                yield f"message received: {payload['content']}"
            case "step_progress":
                yield from self._progress(payload)
            case "step":
                yield from _tool(payload)
            case _:
                pass

    def _progress(self, payload: Mapping[str, Json]) -> Iterator[str]:
        if payload["event"] == "answered":
            yield f"{self._asked.get(payload['waiting'], payload['waiting'])}: {_said(payload)}"
            return
        step = payload["step_id"]
        match payload["event"]:
            case "started":
                yield self._begun(payload)
            case "paused":
                self._running.pop(step, None)
                wants = ""
                if "waiting" in payload:
                    self._asked[payload["waiting"]["id"]] = _name(payload)
                    wants = f"{WANTS[payload['waiting']['kind']]}: "
                yield f"{_name(payload)}: {wants}{payload['why']}"
            case "resumed":
                self._running[step] = None
            case "completed" | "failed" | "skipped":
                self._running.pop(step, None)
                yield _ended(payload)
            case _:
                pass

    def _begun(self, payload: Mapping[str, Json]) -> str:
        step, works = payload["step_id"], payload["kind"] not in CONSISTING
        self._running.pop(step, None)
        beside = list(self._running) if works else []
        if works:
            self._running[step] = None
        return _started(payload, beside=beside)


def plan_line(payload: Mapping[str, Json]) -> str:
    """The plan in one line: its steps and what each comes after."""
    steps = payload["plan"]["steps"]
    name = "plan" if payload["round"] == 1 else f"plan {payload['round']}"
    return f"{name}: {counted(len(steps), 'step')}: {', '.join(map(with_needs, steps))}"


def diagnostic_lines(payload: Mapping[str, Json]) -> Iterator[str]:
    """One line for each finding in the plan, as far as anybody would read them: a repair is never silent."""
    findings = payload["diagnostics"]
    for found in findings[:FINDINGS]:
        fix = f" ({found['fix']})" if found["fix"] else ""
        yield f"plan: {found['severity']} {found['code']}: {found['message']}{fix}"
    if len(findings) > FINDINGS:
        yield f"plan: and {len(findings) - FINDINGS} more findings, which --json shows in full"


def _started(payload: Mapping[str, Json], *, beside: list[str]) -> str:
    again = f" again, attempt {payload['attempt']}," if payload["attempt"] > 1 else ""
    model = f" on {payload['model']}" if payload["model"] else ""
    company = f" beside {listed(beside)}" if beside else ""
    return f"{_name(payload)}: started{again}{model}{company}: {payload['task'] or payload['kind']}"


def _ended(payload: Mapping[str, Json]) -> str:
    if payload.get("same_as"):
        end = "done" if payload["event"] == "completed" else "failed"
        return f"{_name(payload)}: {end}: {same_told(payload)}"
    match payload["event"]:
        case "completed":
            return f"{_name(payload)}: done{_cost(payload)}"
        case "failed":
            return f"{_name(payload)}: failed{_cost(payload)}: {payload['error']}: {payload['message']}"
        case _:
            return f"{_name(payload)}: skipped: {payload['reason']}"


def same_told(payload: Mapping[str, Json]) -> str:
    """Of a step for which nothing was done: whose result it takes."""
    return f"the same as {one_line(payload['same_as'], limit=32)}, whose result it takes"


def _said(payload: Mapping[str, Json]) -> str:
    """Somebody's answer to what waited."""
    by = f" by {payload['by']}" if payload["by"] else ""
    text = f": {payload['text']}" if payload["text"] else ""
    return f"answered{by}: {payload['decision']}{text}"


def _name(payload: Mapping[str, Json]) -> str:
    return one_line(payload["step_id"], limit=32)


def _cost(payload: Mapping[str, Json]) -> str:
    seconds = f" in {seconds_told(payload['seconds'])}"
    if not payload["model"]:
        return seconds
    return f"{seconds}, {tokens_told(payload['tokens'], exact=payload['tokens_exact'])}, on {payload['model']}"


def _tool(payload: Mapping[str, Json]) -> Iterator[str]:
    match payload:
        case {"type": "iteration", "status": "start", "tool_name": tool, "tool_args": args}:
            yield f"{_name(payload)}: calls {tool} {json.dumps(args, ensure_ascii=False)}"
        case {"type": "iteration", "status": "done", "tool_name": tool, "error": str(), "observation": observation}:
            yield f"{_name(payload)}: {tool} failed: {observation}"
        case _:
            pass
