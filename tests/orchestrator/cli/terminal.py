"""The command line, typed at in-process: the real program on a world whose model follows a script."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from typer.testing import CliRunner, Result

from orchestrator.cli.app import app
from orchestrator.cli.world import World
from orchestrator.limits import Limits
from orchestrator.settings import Settings
from registry.messages import Reply, Request
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.testing import ScriptedModel, asks

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


class ScriptedWorld(World):
    """Nothing but a scripted model, and settings that are given. `asked_for` is what `--model` said."""

    def __init__(self, model: Model, settings: Settings | None = None) -> None:
        self._model, self._settings = model, settings or Settings(limits=Limits(rounds=1))
        self.asked_for: tuple[str, ...] = ()

    def settings(self, config: Path | None) -> Settings:
        return self._settings

    @asynccontextmanager
    async def models(
        self, settings: Settings, model_args: tuple[str, ...], tell: Callable[[str], None] = print
    ) -> AsyncGenerator[ModelRegistry, None]:
        self.asked_for = model_args
        yield ModelRegistry(self._model)


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
