"""`dagwright resume`: a run goes on as if nothing had happened."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

from msgspec.structs import replace

from orchestrator.cli.asked import Asked
from orchestrator.cli.ending import ACHIEVED, NOT_ACHIEVED, say
from orchestrator.cli.options import Options
from orchestrator.cli.running import Session, refuse_nowhere, screen_for, show_answer
from orchestrator.cli.runs.recalling import Recalled, remembered
from orchestrator.cli.setup import Setup
from orchestrator.cli.world import World
from orchestrator.errors import RunCancelled
from orchestrator.events.facts import RunEnded
from orchestrator.events.project import project
from orchestrator.orchestrator import Orchestrator
from orchestrator.run import Run
from orchestrator.standing import CLOSED
from planner import Known, check
from registry.errors import ConfigurationError


def resume_run(world: World, name: str, options: Options) -> int:
    """Goes on with a run, begun as its setup says; of one that has ended, prints the answer again. Returns the exit code."""
    refuse_nowhere(options.output)
    past = remembered(world, options, name)
    started, ended = past.started, past.state.ended
    if ended is not None and past.standing in CLOSED:
        return _told_again(past, ended, options)
    setup = Setup.read(past.run, started.setup)
    options = setup.options(options)
    refuse_nowhere(options.output)
    wanted = Asked(goal=started.plan or started.goal, root=options.root or options.folder, inputs=started.inputs)
    # Models and limits are those that it was begun with; the journal is the one that it was found in.
    settings = replace(world.settings(options.config or setup.config), journal=world.settings(options.config).journal)
    opening = partial(_opened_again, past)
    return Session(world, wanted, options, settings=settings, opening=opening).to_the_end()


@asynccontextmanager
async def _opened_again(past: Recalled, orchestrator: Orchestrator) -> AsyncGenerator[Run, None]:
    _refuse_lacking(past, orchestrator)
    async with orchestrator.open_again(past.run) as run:
        yield run


def _refuse_lacking(past: Recalled, orchestrator: Orchestrator) -> None:
    """Raises `ConfigurationError` when the plan needs a tool or a model that is not there any more."""
    plan = past.state.rounds[-1].plan if past.state.rounds else past.started.plan
    if plan is None:
        return
    known = Known(
        tools=frozenset(orchestrator.tools.names), hints=frozenset(orchestrator.models.hints), inputs=past.started.inputs
    )
    lacking = "; ".join(found.message for found in check(plan, known) if found.severity == "error")
    if lacking:
        raise ConfigurationError(f"run {past.run} can't go on as it was begun: {lacking}")


def _told_again(past: Recalled, ended: RunEnded, options: Options) -> int:
    if ended.outcome == "cancelled":
        raise RunCancelled(past.run)
    if not options.quiet:
        say(f"run {past.run} had ended already: {ended.outcome}")
    screen = screen_for(options)
    if options.as_json:
        for recorded in past.facts:
            screen.show(project(recorded))
    show_answer(ended.answer, options, shown=options.as_json)
    return ACHIEVED if ended.outcome == "achieved" else NOT_ACHIEVED
