"""What every step of a run is doing, as far as its messages have told."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Literal

from orchestrator.cli.view.text import listed
from orchestrator.events.project import ChannelMessage
from registry.messages import Json

State = Literal["waiting", "running", "completed", "failed", "skipped"]


@dataclass(slots=True, kw_only=True)
class Row:
    """One step. `depth` counts the steps before it on the longest way to it; steps of one depth may run side by side.

    `began` is a moment of the monotonic clock, `seconds` the length once it has ended. `tools` are the calls under way, tool
    names by call id. `note` is what it waits for, is doing without a tool, or ended with.
    """

    step: str
    depth: int = 0
    state: State = "waiting"
    model: str = ""
    began: float = 0.0
    seconds: float = 0.0
    tokens: int = 0
    tokens_exact: bool = True
    tools: dict[str, str] = field(default_factory=dict)
    note: str = ""

    def elapsed(self, now: float) -> float:
        """Seconds it has run or did run."""
        return now - self.began if self.state == "running" else self.seconds

    @property
    def doing(self) -> str:
        """The tools it is calling, or else its note."""
        return listed(list(self.tools.values())) if self.tools else self.note


@dataclass(slots=True)
class Board:
    """A fold over messages: the phase, the round of the plan, and a row for each of its steps in plan order."""

    phase: str = ""
    round: int = 0
    rows: dict[str, Row] = field(default_factory=dict)
    _asked: dict[str, str] = field(default_factory=dict)
    """The step by the id of what it asked."""

    def take(self, message: ChannelMessage, now: float) -> None:
        """Take in one more message, at this moment of the monotonic clock."""
        match message.channel:
            case "phase":
                self.phase = message.payload["phase"]
            case "plan":
                self.round = message.payload["round"]
                self._lay_out(message.payload["plan"]["steps"], kept=message.payload["diff"].get("kept", ()))
            case "step_progress" if message.payload["event"] == "answered":
                self._answer(message.payload, now)
            case "step_progress":
                if "waiting" in message.payload:
                    self._asked[message.payload["waiting"]["id"]] = message.payload["step_id"]
                _progress(self._row(message.payload), message.payload, now)
            case "step":
                _activity(self._row(message.payload), message.payload)
            case _:
                pass

    def halt(self) -> None:
        """Nobody works on it any more: what ran waits until somebody does."""
        for row in self.rows.values():
            if row.state == "running":
                row.state, row.note = "waiting", "interrupted"

    def in_state(self, *states: State) -> list[str]:
        """The steps in any of these states, in plan order."""
        return [row.step for row in self.rows.values() if row.state in states]

    def _row(self, payload: Mapping[str, Json]) -> Row:
        return self.rows.setdefault(payload["step_id"], Row(step=payload["step_id"]))

    def _answer(self, payload: Mapping[str, Json], now: float) -> None:
        row = self.rows.get(self._asked.get(payload["waiting"], ""))
        if row is not None and row.state == "waiting":
            row.state, row.began, row.note = "running", now, "answered"

    def _lay_out(self, steps: Iterable[Mapping[str, Json]], *, kept: Iterable[str]) -> None:
        """Rows for a new plan; a step that it kept goes on as it was."""
        needs: dict[str, list[str]] = {step["id"]: step["depends_on"] for step in steps}
        old = {step_id: self.rows[step_id] for step_id in kept if step_id in self.rows}
        self.rows = {step_id: old.get(step_id) or _waiting(step_id, before) for step_id, before in needs.items()}
        for step_id in TopologicalSorter(needs).static_order():
            self.rows[step_id].depth = max((1 + self.rows[before].depth for before in needs[step_id]), default=0)


def _waiting(step_id: str, before: list[str]) -> Row:
    return Row(step=step_id, note=f"after {listed(before)}" if before else "")


def _progress(row: Row, payload: Mapping[str, Json], now: float) -> None:
    match payload["event"]:
        case "started":
            row.state, row.model, row.began, row.note = "running", payload["model"], now, ""
            row.tokens, row.tokens_exact = 0, True
        case "paused":
            row.state, row.note = "waiting", payload["why"]
        case "resumed":  # waiting is not counted as the step's time
            row.state, row.began, row.note = "running", row.began + payload["waited"], "thinking"
        case "iteration":
            row.tokens += payload["tokens"]
            row.tokens_exact = row.tokens_exact and payload["tokens_exact"]
        case "completed" | "failed" as state:
            row.state, row.seconds = state, payload["seconds"]
            row.tokens, row.tokens_exact = payload["tokens"], payload["tokens_exact"]
            row.note = _end(payload)
            row.tools.clear()
        case "skipped":
            row.state, row.note = "skipped", payload["reason"]
        case _:
            pass


def _end(payload: Mapping[str, Json]) -> str:
    """What there is to say of a step that has ended, beside its figures."""
    if payload.get("same_as"):
        return f"the same as {payload['same_as']}"
    return "" if payload["event"] == "completed" else f"{payload['error']}: {payload['message']}"


def _activity(row: Row, payload: Mapping[str, Json]) -> None:
    match payload:
        case {"type": "iteration", "status": "start", "call_id": call_id, "tool_name": name}:
            row.tools[call_id] = name
        case {"type": "iteration", "status": "done", "call_id": call_id}:
            row.tools.pop(call_id, None)
        case {"type": "thinking", "status": "start"}:
            row.note = "thinking"
        case {"type": "thinking", "status": "done"}:
            row.note = ""
        case {"type": "answer"}:
            row.note = "concluding"
        case _:
            pass
