"""Running what was asked for, with somebody watching."""

import sys
from functools import partial
from pathlib import Path

import anyio

from orchestrator.cli.asked import Asked, asked
from orchestrator.cli.ending import ACHIEVED, INTERRUPTED, NOT_ACHIEVED, SUSPENDED, say, told
from orchestrator.cli.options import Options
from orchestrator.cli.toolbox import toolbox
from orchestrator.cli.view import JsonLines, LiveTree, PlainLines, Quiet, Screen, harmless, summary_lines, watch
from orchestrator.cli.world import World, in_a_loop
from orchestrator.limits import Limits
from orchestrator.logs import show_logs
from orchestrator.orchestrator import Orchestrator
from orchestrator.run import Answer, Run
from orchestrator.settings import Settings
from orchestrator.unwrapping import sole_error
from orchestrator.wiring import EMBEDDED, roles_asked
from registry.errors import ConfigurationError, DagwrightError
from registry.tools.registry import ToolRegistry

CODES = {"achieved": ACHIEVED, "suspended": SUSPENDED}

MODEST = Limits(step_seconds=300, step_iterations=3, rounds=1, reply_tokens=200, answer_tokens=400)
"""For the embedded model alone: it is slow, and trying on makes it no wiser."""


def run_asked(world: World, argument: str, options: Options) -> int:
    """Meet a goal or do a plan, show how it goes, and print the answer. Returns the exit code."""
    if options.output is not None and not options.output.parent.is_dir():
        raise ConfigurationError(f"no folder {str(options.output.parent)!r} to write the answer to")
    return Session(world, asked(argument, options), options).to_the_end()


class Session:
    """One run on the command line. `answer` is what came of it, None while nothing has."""

    def __init__(self, world: World, wanted: Asked, options: Options) -> None:
        self._world, self._wanted, self._options = world, wanted, options
        self._screen = screen_for(options)
        self._run_id = ""
        self.answer: Answer | None = None

    def to_the_end(self) -> int:
        """Runs it and tells how it ended. Raises only what kept it from beginning."""
        if self._options.verbose:
            show_logs()
        settings = self._world.settings(self._options.config)
        tools = toolbox(self._options.tools, self._wanted.root, self._world.ports)
        try:
            self.answer = in_a_loop(partial(self._follow, settings, tools))
        except DagwrightError as error:
            if not self._run_id:
                raise
            code = told(error)
            self._tell(f"run {self._run_id} failed; next: the same command with --json shows every event")
            return code
        if self.answer is None:
            say(f"interrupted; run {self._run_id} has ended" if self._run_id else "interrupted")
            return INTERRUPTED
        return self._present(self.answer)

    async def _follow(self, settings: Settings, tools: ToolRegistry) -> Answer:
        with sole_error():
            async with self._world.models(settings, self._options.models, self._tell) as models:
                orchestrator = Orchestrator(
                    models, tools=tools, limits=limits_for(settings, self._options), ports=self._world.ports
                )
                opened = orchestrator.open(self._wanted.goal, inputs=self._wanted.inputs)
                async with anyio.create_task_group() as group, opened as run:
                    self._run_id = run.id
                    group.start_soon(_watched, run, self._screen)
                    answer = await run.answer()
        return answer

    def _present(self, answer: Answer) -> int:
        if answer.output and not self._screen.answered:
            print(harmless(answer.output) if sys.stdout.isatty() else answer.output, flush=True)
        if answer.output and self._options.output is not None:
            write_whole(self._options.output, answer.output)
        for waiting in answer.waiting:
            say(f"step {waiting.step} waits: {waiting.what}")
        ended, *lines, run = summary_lines(answer)
        keep = "" if self._options.output else "-o FILE keeps the answer, "
        for line in (*lines, f"{run} {ended}; next: {keep}--json shows every event, dagwright run --help the rest"):
            self._tell(line)
        return CODES.get(answer.outcome, NOT_ACHIEVED)

    def _tell(self, sentence: str) -> None:
        if not self._options.quiet:
            say(sentence)


def limits_for(settings: Settings, options: Options) -> Limits:
    """The limits of the settings file; without any, modest ones where only the embedded model is asked for."""
    names = {name for chain in roles_asked(options.models).values() for name in chain}
    return MODEST if names == {EMBEDDED} and settings.limits == Limits() else settings.limits


def screen_for(options: Options) -> Screen:
    """How the run is to be shown: a picture where stderr is a terminal, else lines."""
    if options.as_json:
        return JsonLines(sys.stdout)
    if options.quiet:
        return Quiet()
    if not sys.stderr.isatty():
        return PlainLines(sys.stderr)
    from rich.console import Console

    return LiveTree(Console(stderr=True), sys.stdout)


def write_whole(path: Path, text: str) -> None:
    """The text as the file's new content, all of it or nothing. Raises `ConfigurationError`."""
    partial_file = path.with_name(f".{path.name}.partial")
    try:
        partial_file.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        partial_file.replace(path)
    except OSError as error:
        raise ConfigurationError(f"the answer can't be written to {str(path)!r}: {error.strerror}") from error
    finally:
        partial_file.unlink(missing_ok=True)


async def _watched(run: Run, screen: Screen) -> None:
    """Shows the run to its last event. Ctrl-C ends the run and not this: how it ended is shown too."""
    with anyio.CancelScope(shield=True):
        await watch(run.events, screen)
