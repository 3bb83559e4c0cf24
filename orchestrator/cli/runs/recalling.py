"""Runs as the journal knows them, found by the beginning of their ids."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from orchestrator.cli.options import Options
from orchestrator.cli.world import World, in_a_loop
from orchestrator.errors import RunError, UnknownRun
from orchestrator.events.facts import RunStarted
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import Journal, Listed
from orchestrator.standing import CLOSED, Standing, standing
from orchestrator.state import RunState, folded
from orchestrator.waiting import Waiting
from registry.errors import ConfigurationError

T = TypeVar("T")

SUGGESTED = 20
"""Ids that an error shows, the newest ones."""


class Recalled(Struct, frozen=True, kw_only=True):
    """A run and all its Facts, none where it is damaged."""

    listed: Listed
    facts: tuple[Recorded, ...]
    state: RunState

    @property
    def run(self) -> str:
        return self.listed.run

    @property
    def started(self) -> RunStarted:
        """What it was begun with. Only a damaged run has none."""
        assert self.state.started is not None
        return self.state.started

    @property
    def standing(self) -> Standing:
        return standing(self.listed, self.facts)

    @property
    def pending(self) -> tuple[Waiting, ...]:
        """What waits for an answer, and has somebody to hear it."""
        return () if self.standing in CLOSED else self.state.pending


def with_journal(world: World, options: Options, work: Callable[[Journal], Awaitable[T]]) -> T:
    """What the work on the journal of the settings comes to, never None. Raises `KeyboardInterrupt` when a signal ends it."""

    async def opened() -> T:
        async with world.journal(world.settings(options.config)) as journal:
            return await work(journal)

    found = in_a_loop(opened)
    if found is None:
        raise KeyboardInterrupt
    return found


def remembered(world: World, options: Options, run: str) -> Recalled:
    """The run of this id, or of one that begins like this."""
    return with_journal(world, options, partial(recall, name=run))


async def recall(journal: Journal, name: str) -> Recalled:
    """The run of this id, or of one that begins like this. Raises `UnknownRun`, `ConfigurationError`, `JournalDamaged`."""
    past = await reread(journal, named(name, await journal.runs()))
    if past.state.started is None:  # it was interrupted before anything was written down
        raise UnknownRun(past.run)
    return past


async def reread(journal: Journal, listed: Listed) -> Recalled:
    """All there is to know of a listed run. Raises `JournalDamaged`."""
    facts = await journal.read(listed.run)
    return Recalled(listed=listed, facts=facts, state=folded(recorded.event for recorded in facts))


async def looked_at(journal: Journal, listed: Listed) -> Recalled:
    """`reread` for a list in which one damaged run must not hide the others."""
    try:
        return await reread(journal, listed)
    except RunError as error:
        return Recalled(listed=replace(listed, damage=listed.damage or str(error)), facts=(), state=RunState())


async def glanced_at(journal: Journal, listed: Listed) -> Standing:
    """Where a run stands as far as its last Fact tells, which is enough to know whether it has ended."""
    try:
        return standing(listed, await journal.read(listed.run, after=max(0, listed.facts - 1)))
    except RunError:
        return "damaged"


def named(name: str, runs: Iterable[Listed]) -> Listed:
    """The run of this id, or the only one whose id begins so. Raises `UnknownRun`, and `ConfigurationError` for several."""
    known = {listed.run: listed for listed in runs}
    found = [known[name]] if name in known else [known[run] for run in known if name and run.startswith(name)]
    if not found:
        raise UnknownRun(name, list(known)[-SUGGESTED:])
    if len(found) > 1:
        raise ConfigurationError(
            f"{name!r} is the beginning of several runs: {', '.join(each.run for each in found[:SUGGESTED])}"
        )
    return found[0]
