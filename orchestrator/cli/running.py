"""Running what was asked for, with somebody watching."""

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import anyio

from orchestrator.cli.asked import Asked, asked
from orchestrator.cli.consent import Consent
from orchestrator.cli.ending import ACHIEVED, INTERRUPTED, NOT_ACHIEVED, SUSPENDED, say, told
from orchestrator.cli.limiting import limits_for, only_embedded, unpriced_for
from orchestrator.cli.options import Options
from orchestrator.cli.setup import Setup
from orchestrator.cli.toolbox import toolbox
from orchestrator.cli.view import (
    JsonLines,
    LiveTree,
    PlainLines,
    Quiet,
    Screen,
    asked_lines,
    harmless,
    summary_lines,
    waiting_lines,
    watch,
)
from orchestrator.cli.world import World, in_a_loop
from orchestrator.errors import JournalUnusable
from orchestrator.logs import show_logs
from orchestrator.orchestrator import Orchestrator
from orchestrator.run import Answer, Run
from orchestrator.settings import Settings
from orchestrator.unwrapping import sole_error
from planner import Plan, PlanError
from registry.errors import ConfigurationError, DagwrightError, ModelError
from registry.tools.registry import ToolRegistry

CODES = {"achieved": ACHIEVED, "suspended": SUSPENDED}

PASSING = (ModelError, JournalUnusable)
"""What may be better when the run is resumed."""

Opening = Callable[[Orchestrator], AbstractAsyncContextManager[Run]]
"""How the run begins, or begins again."""


def run_asked(world: World, argument: str, options: Options) -> int:
    """Meet a goal or do a plan, show how it goes, and print the answer. Returns the exit code."""
    refuse_nowhere(options.output)
    return begun(world, asked(argument, options), options, world.settings(options.config)).to_the_end()


class Session:
    """One life of a run on the command line. `answer` is what came of it, None while nothing has."""

    def __init__(self, world: World, wanted: Asked, options: Options, *, settings: Settings, opening: Opening) -> None:
        self._world, self._wanted, self._options = world, wanted, options
        self._settings, self._opening = settings, opening
        self._screen = screen_for(options)
        self._run_id = ""
        self.answer: Answer | None = None

    def to_the_end(self) -> int:
        """Runs it and tells how it ended. Raises only what kept it from beginning."""
        if self._options.verbose:
            show_logs()
        asking = isinstance(self._wanted.goal, Plan) or not only_embedded(self._options)
        tools = toolbox(self._options.tools, self._wanted.root, self._world.ports, self._options.folder, asking=asking)
        try:
            self.answer = in_a_loop(partial(self._follow, tools))
        except DagwrightError as error:
            if not self._run_id:
                raise
            return self._fail(error)
        if self.answer is None:
            say(f"interrupted{self._run_id and f'; {self._go_on}'}")
            return INTERRUPTED
        return self._present(self.answer)

    async def _follow(self, tools: ToolRegistry) -> Answer:
        world, settings = self._world, self._settings
        with sole_error():
            async with (
                world.journal(settings) as journal,
                world.models(settings, self._options.models, self._tell) as models,
            ):
                limits = limits_for(settings, self._options)
                consent = Consent(
                    world, settings, self._options, limits=limits, tools=tools, inputs=self._wanted.inputs, journal=journal
                )
                hooks = (consent,) if self._options.asks_first else ()
                orchestrator = Orchestrator(
                    models,
                    tools=tools,
                    hooks=hooks,
                    limits=limits,
                    unpriced=unpriced_for(settings, self._options),
                    journal=journal,
                    ports=world.ports,
                )
                async with anyio.create_task_group() as group, self._opening(orchestrator) as run:
                    self._run_id = run.id
                    group.start_soon(_watched, run, self._screen)
                    answer = await run.answer()
        return answer

    def _fail(self, error: DagwrightError) -> int:
        written = self._wanted.written
        wrong = PlanError(written.located(error.diagnostics)) if written and isinstance(error, PlanError) else error
        code = told(wrong)
        if not self._is_kept:
            self._tell(f"run {self._run_id} failed; next: the same command with --json shows every event")
        elif isinstance(error, PASSING) or (isinstance(error, PlanError) and isinstance(self._wanted.goal, str)):
            self._tell(f"run {self._run_id} failed; {self._go_on}")
        else:
            self._tell(f"next: {self._options.next_command('logs', self._run_id)} shows what happened")
        return code

    def _present(self, answer: Answer) -> int:
        if answer.output:
            show_answer(answer.output, self._options, shown=self._screen.answered)
        ended, *lines, run = summary_lines(answer)
        for line in lines:
            self._tell(line)
        if answer.waiting:
            self._ask(answer)
        else:
            keep = "" if self._options.output else "-o FILE keeps the answer, "
            shows = self._options.next_command("show", answer.run_id) if self._is_kept else "--json"
            self._tell(f"{run} {ended}; next: {keep}{shows} shows every step, dagwright run --help the rest")
        return CODES.get(answer.outcome, NOT_ACHIEVED)

    def _ask(self, answer: Answer) -> None:
        """Tells all that waits, however quiet the run was to be: without it nobody could go on."""
        command, run = self._options.next_command, answer.run_id
        for waiting in answer.waiting:
            heading, *lines = waiting_lines(run, waiting, command) if self._is_kept else asked_lines(waiting)
            say(heading)
            print("\n".join(lines), file=sys.stderr)
        say(f"run {run} is suspended; {'answer, and ' if self._is_kept else ''}{self._go_on}")

    @property
    def _is_kept(self) -> bool:
        return self._settings.journal.path is not None

    @property
    def _go_on(self) -> str:
        """How to go on with the run in another process."""
        if self._is_kept:
            return f"go on with: {self._options.next_command('resume', self._run_id)}"
        return "nobody can go on with it, for it was kept in memory only"

    def _tell(self, sentence: str) -> None:
        if not self._options.quiet:
            say(sentence)


def begun(world: World, wanted: Asked, options: Options, settings: Settings) -> Session:
    """A new run of what is wanted."""
    setup = Setup.of(options, wanted.root, settings.file).written()

    def opening(orchestrator: Orchestrator) -> AbstractAsyncContextManager[Run]:
        return orchestrator.open(wanted.goal, inputs=wanted.inputs, setup=setup)

    return Session(world, wanted, options, settings=settings, opening=opening)


def show_answer(text: str, options: Options, *, shown: bool = False) -> None:
    """The answer on stdout, unless it was shown there, and in the file that it is to be kept in."""
    if not shown:
        print(harmless(text) if sys.stdout.isatty() else text, flush=True)
    if options.output is not None:
        write_whole(options.output, text)


def refuse_nowhere(output: Path | None) -> None:
    """Raises `ConfigurationError` where an answer could not be written to."""
    if output is not None and not output.parent.is_dir():
        raise ConfigurationError(f"no folder {str(output.parent)!r} to write the answer to")


def screen_for(options: Options) -> Screen:
    """How the run is to be shown: a picture where stderr is a terminal, else lines."""
    if options.as_json:
        return JsonLines(sys.stdout)
    if options.quiet:
        return Quiet()
    if not sys.stderr.isatty() or options.confirm:  # a question would be lost in a picture that moves
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
