"""One small run that has everything: a planned goal, side-by-side steps, tools of two effects, a failure, a revision."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

import anyio

from orchestrator import Orchestrator, Ports
from orchestrator.journal.protocol import Journal
from registry.calls import Call
from registry.errors import Unreachable
from registry.messages import Piece, Reply, Request
from registry.models.layer import ModelLayer
from registry.testing import ScriptedModel, asks, asks_many, says
from registry.tools.function import tool

GOAL = "Compare the two harbours"

PLAN = {
    "steps": [
        {"id": "north", "task": "Describe the north harbour", "depends_on": []},
        {"id": "south", "task": "Describe the south harbour", "depends_on": []},
        {"id": "compare", "task": "Compare them", "depends_on": ["north", "south"]},
    ]
}
REVISION = {"steps": [{"id": "again", "task": "Compare them once more", "depends_on": ["north", "south"]}]}
MISSED = {"achieved": False, "confidence": 0.9, "reasoning": "no comparison", "missing": ["the comparison"], "final_answer": ""}
MET = {"achieved": True, "confidence": 0.9, "reasoning": "compared", "missing": [], "final_answer": "South is larger."}
ANSWER = "The south harbour is larger."


def ports() -> Ports:
    """A world that stands still."""
    numbers = count(1)
    return Ports(
        now=lambda: datetime(2026, 1, 2, tzinfo=UTC),
        new_id=lambda: f"run{next(numbers)}",
        jitter=lambda: 0.5,
    )


class Paced(ModelLayer):
    """A model that takes its time, a different one for each step, so that what overlaps does so in a known order."""

    async def chat(self, request: Request, call: Call) -> Reply:
        await anyio.sleep({"north": 1.0, "south": 1.3}.get(call.label, 0.1))
        return await self._inner.chat(request, call)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        async with aclosing(self._inner.stream_chat(request, call)) as pieces:
            async for piece in pieces:
                yield piece


@dataclass
class World:
    """What the scenario's tools did, and what its model was asked: to be shared by the lives of one run."""

    measured: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def orchestrator(self, journal: Journal) -> Orchestrator:
        """A new process, as it were, on the same world."""

        @tool(effect="pure")
        async def measure(harbour: str) -> str:
            """Measure a harbour."""
            self.measured.append(harbour)
            return {"north": "12 berths", "south": "30 berths"}[harbour]

        @tool(effect="keyed")
        async def log(line: str, call: Call) -> str:
            """Write into the log book."""
            if call.key not in self.logged:
                self.logged.append(call.key)
            return f"logged: {line}"

        model = Paced(ScriptedModel(self.reply))
        return Orchestrator(model, tools=[measure, log], journal=journal, ports=ports())

    def reply(self, request: Request) -> Reply | str | Unreachable:
        """What the model says depends on the request alone, so that a resumed run could not tell if it were asked again."""
        self.asked.append(repr([(type(message).__name__, message.text) for message in request.messages]))
        text = "\n".join(message.text for message in request.messages if message.role == "user")
        names = [spec.name for spec in request.tools]
        if "plan" in names:
            return asks("plan", **(REVISION if "no comparison" in text else PLAN))
        if "verdict" in names:
            return asks("verdict", **(MET if "30 beats 12" in text else MISSED))
        if "once more" in text:
            return "30 beats 12"
        if "Compare them" in text:
            return Unreachable("the model", "a passing storm")
        if text.startswith("Describe"):
            return self._describe(request, "north" if "the north harbour" in text else "south")
        return ANSWER

    def _describe(self, request: Request, harbour: str) -> Reply:
        seen = [message.text for message in request.messages if message.role == "tool"]
        if not seen:
            return asks_many(("measure", {"harbour": harbour}), ("log", {"line": harbour}))
        return says(f"The {harbour} harbour has {json.loads(json.dumps(seen[0]))}.")
