"""`python -m tests.serving.stage serve ...` is `dagwright serve ...` with models that go by the scripts of the scenarios.

In the folder `STAGE` there are doors, files that open when they are made. At the door `laps` every agent waits before its second
lap, at the door `answer` every answer after its first words.
"""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio

from orchestrator.cli.app import command
from orchestrator.cli.ending import say
from orchestrator.cli.world import World
from orchestrator.settings import Settings
from planner import Plan
from registry.calls import Call
from registry.messages import Piece, Reply, Request
from registry.models.registry import ModelRegistry
from registry.testing import Line, ScriptedModel
from tests.orchestrator.parts import judged, part_of, planned
from tests.scenarios.outside import Folder
from tests.scenarios.plans import ACCOUNTS, HARBOURS, LETTERS, SURVEY, Scenario
from tests.scenarios.script import Pace, Paced

CAST = (HARBOURS, SURVEY, LETTERS, ACCOUNTS)
FIRST_WORDS = 2


def goal_of(scenario: Scenario) -> str:
    return scenario.goal.goal if isinstance(scenario.goal, Plan) else scenario.goal


def reply(request: Request) -> Line:
    """As the scenario has it that the request belongs to; something quite ordinary to all others."""
    read = next(message.text for message in request.messages if message.role == "user")
    for scenario in CAST:
        if goal_of(scenario) in read or read.partition("\n")[0] in scenario.script.tasks:
            return scenario.script.reply(request)
    return {
        "plan": planned("north", "south"),
        "verdict": judged(True),
        "synthesis": "They differ in their ice.",
        "step": "It is ice-free.",
    }[part_of(request)]


class Held(Paced):
    """Waits at the doors. That it was asked has happened by then."""

    def __init__(self, stage: Path) -> None:
        life = int(os.environ.get("LIFE", "1"))
        super().__init__(ScriptedModel(reply), Pace(otherwise=0.0), Folder(stage / "outside", life))
        self._stage = stage

    async def chat(self, request: Request, call: Call) -> Reply:
        replied = await super().chat(request, call)
        if call.iteration > 1:
            await self._opened("laps")
        return replied

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        said = 0
        async with aclosing(super().stream_chat(request, call)) as pieces:
            async for piece in pieces:
                yield piece
                said += 1
                if said == FIRST_WORDS:
                    await self._opened("answer")

    async def _opened(self, door: str) -> None:
        while not (self._stage / door).exists():  # noqa: ASYNC110 (another process opens it)
            await anyio.sleep(0.01)


class Staged(World):
    @asynccontextmanager
    async def models(
        self, settings: Settings, model_args: tuple[str, ...], tell: Callable[[str], None] = say
    ) -> AsyncGenerator[ModelRegistry, None]:
        yield ModelRegistry(Held(Path(os.environ["STAGE"])))


if __name__ == "__main__":
    command()(prog_name="dagwright", obj=Staged())
