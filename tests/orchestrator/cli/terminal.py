"""The command line, typed at in-process: the real program on a world whose model follows a script."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
from typer.testing import CliRunner, Result

from orchestrator.cli.app import app
from orchestrator.cli.world import World
from orchestrator.events.recorded import Event
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journal.protocol import Journal
from orchestrator.limits import Limits
from orchestrator.ports import Ports
from orchestrator.settings import JournalSettings, Settings
from registry.messages import Reply, Request
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.testing import ScriptedModel, asks
from tests.orchestrator.cli.view.script import GLIMPSES

STEPS = [{"id": "hello", "task": "Say hello", "depends_on": []}]
MET = {"achieved": True, "confidence": 1.0, "reasoning": "said", "missing": [], "final_answer": ""}
MISSED = {"achieved": False, "confidence": 1.0, "reasoning": "not said", "missing": ["a greeting"], "final_answer": ""}

TWO_STEPS = """
goal: Greet the harbour
inputs:
  who: {type: string}
  times: {type: integer, default: 1}
steps:
  - id: hello
    task: Say hello to ${inputs.who}
  - id: sum
    kind: tool
    tool: calculator
    args: {expression: "${inputs.times} + 1"}
output: ${steps.hello.output}
"""


KEPT = JournalSettings(path=Path("journal.sqlite3"))
"""For a world whose journal outlives each command; nothing is written there."""


class ScriptedWorld(World):
    """Nothing but a scripted model, settings that are given, and one journal for all commands.

    `asked_for` is what `--model` said.
    """

    def __init__(self, model: Model, settings: Settings | None = None, kept: MemoryJournal | None = None) -> None:
        self._model, self._settings = model, settings or Settings(limits=Limits(rounds=1), journal=KEPT)
        self.kept = kept or MemoryJournal()
        self.asked_for: tuple[str, ...] = ()

    def settings(self, config: Path | None) -> Settings:
        return self._settings

    @asynccontextmanager
    async def models(
        self, settings: Settings, model_args: tuple[str, ...], tell: Callable[[str], None] = print
    ) -> AsyncGenerator[ModelRegistry, None]:
        self.asked_for = model_args
        yield ModelRegistry(self._model)

    @asynccontextmanager
    async def journal(self, settings: Settings) -> AsyncGenerator[Journal, None]:
        yield self.kept


NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


def remembers(
    runs: Mapping[str, Iterable[Event]],
    *,
    held: Iterable[str] = (),
    ago: float = 60.0,
    kept: MemoryJournal | None = None,
) -> ScriptedWorld:
    """A world at `NOW` whose journal has these runs, all they tell `ago` seconds old; those that are held are worked on."""

    async def tell() -> None:
        for run, events in runs.items():
            writer = await world.kept.claim(run, holder="somebody", ttl=60)
            facts = (event for event in events if event.kind not in GLIMPSES)
            await writer.append(*((fact, NOW.timestamp() - ago) for fact in facts))
            if run not in held:
                await writer.release()

    world = ScriptedWorld(greets(), kept=kept)
    world.ports = Ports(now=lambda: NOW)
    anyio.run(tell)
    return world


def greets(*, met: bool = True) -> ScriptedModel:
    """A model that plans one step, does it, judges it, and writes the answer."""

    def reply(request: Request) -> Reply | str:
        names = [spec.name for spec in request.tools]
        if "plan" in names:
            return asks("plan", steps=STEPS)
        if "verdict" in names:
            return asks("verdict", **(MET if met else MISSED))
        return "Hello, harbour!"

    return ScriptedModel(reply)


def typed(*arguments: str | Path, world: World | None = None, stdin: str = "") -> Result:
    """What the command came to: exit code, stdout, stderr. An error that the program would not expect is raised here."""
    runner = CliRunner()
    result = runner.invoke(app, [str(argument) for argument in arguments], obj=world or ScriptedWorld(greets()), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def plan_file(folder: Path, text: str = TWO_STEPS, name: str = "plan.yaml") -> Path:
    """A plan file in the folder."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
