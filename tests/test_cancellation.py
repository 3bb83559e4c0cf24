"""Cancelled at every step that any task takes: nothing is left behind, and what has happened is known."""

import asyncio
import contextvars
import dataclasses
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio
from msgspec.structs import replace

from orchestrator import MemoryJournal, Orchestrator, Run
from orchestrator.answering import cancel
from orchestrator.errors import RunCancelled
from orchestrator.events.facts import CancelRequested, RunEnded, StepEnded, StepStarted, ToolStarted
from orchestrator.events.recorded import Recorded
from orchestrator.journal.memory import MemoryWriter
from orchestrator.journal.protocol import WHOLE_RUN, WORD
from orchestrator.journal.sqlite import SqliteJournal
from orchestrator.state import Attempt
from planner import Plan, ToolStep
from registry.testing import ScriptedModel
from registry.tools.function import tool
from tests.backends import Backend, VirtualClockLoop, backend
from tests.scenario import Life, World, ended, journal_of, leave, undisturbed
from tests.scenarios.plans import HARBOURS, SCENARIOS, STORM, Scenario

pytestmark = pytest.mark.anyio

RUN = "run1"

EACH = pytest.mark.parametrize("scenario", [pytest.param(each, id=each.name) for each in SCENARIOS])


class SteppingLoop(VirtualClockLoop):
    """Tells when a task has taken a step, or something else was called."""

    on_step: Callable[[], None] | None = None

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        def step(*args: Any) -> None:
            callback(*args)
            if self.on_step is not None:
                self.on_step()

        return super().call_soon(step, *args, context=context)


class Steps(trio.abc.Instrument):
    """Tells when a task has taken a step."""

    def __init__(self, on_step: Callable[[], None]) -> None:
        self._on_step = on_step

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self._on_step()


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    """Both loops, and where the clock is virtual asyncio's with a step counter."""
    if request.node.get_closest_marker("real_clock"):
        return backend(request.param, virtual=False)
    return ("asyncio", {"loop_factory": SteppingLoop}) if request.param == "asyncio" else backend("trio", virtual=True)


@contextmanager
def at_step(number: int, then: Callable[[], None]) -> Iterator[None]:
    """Within the block `then` is called when tasks have taken so many steps."""
    left = number

    def on_step() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            then()

    with _listening(on_step):
        yield


@contextmanager
def _listening(on_step: Callable[[], None]) -> Iterator[None]:
    if trio.lowlevel.in_trio_run():
        instrument = Steps(on_step)
        trio.lowlevel.add_instrument(instrument)
        try:
            yield
        finally:
            trio.lowlevel.remove_instrument(instrument)
    else:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SteppingLoop)
        loop.on_step = on_step
        try:
            yield
        finally:
            loop.on_step = None


def begun(facts: Iterable[Recorded]) -> set[str]:
    return {each.event.key for each in facts if isinstance(each.event, ToolStarted)}


def starts(facts: Iterable[Recorded]) -> set[Attempt]:
    return {(each.event.scope, each.event.attempt) for each in facts if isinstance(each.event, StepStarted)}


def ends(facts: Iterable[Recorded]) -> Counter[Attempt]:
    return Counter((each.event.scope, each.event.attempt) for each in facts if isinstance(each.event, StepEnded))


@EACH
async def test_left_at_every_step(scenario: Scenario) -> None:
    """No task and no claim is left, all that was begun is written down, and the run goes on to the same answer elsewhere."""
    whole, tasks = await undisturbed(scenario), len(anyio.get_running_tasks())
    for number in count(1):
        journal, world = MemoryJournal(), World(scenario)
        with anyio.CancelScope() as scope, at_step(number, scope.cancel):
            await world.live(journal)
        if not scope.cancel_called:
            break
        assert tasks == len(anyio.get_running_tasks())
        assert all(listed.holder == "" for listed in await journal.runs())
        facts = await journal.read(RUN) if await journal.runs() else ()
        if "run_started" not in {each.event.kind for each in facts}:
            assert [] == list(world.outside)
            continue
        used = len(world.used)
        assert {each.key for each in world.used} <= begun(facts)
        assert facts[-1].event.kind in ("run_interrupted", "run_suspended", "answered", "run_ended")

        resumed = await Life.of(world, journal, RUN, holder="another")

        assert whole.gist == resumed.gist
        assert whole.effects == resumed.effects
        assert set() == resumed.repeated | ended(facts) & {each.key for each in world.used[used:]}
    assert number > 20


async def cancelling(run: Run, wanted: anyio.Event) -> None:
    await wanted.wait()
    await run.cancel("enough")


@EACH
async def test_cancelled_for_good_at_every_step(scenario: Scenario) -> None:
    """What was finished stays finished, what ran ends as cancelled, nothing new starts, and the run can't be taken up again."""
    tasks, cancelled = len(anyio.get_running_tasks()), 0
    for number in count(1):
        journal, world, wanted, answer = MemoryJournal(), World(scenario), anyio.Event(), None
        with at_step(number, wanted.set):
            async with world.orchestrator(journal).open(scenario.goal) as run, anyio.create_task_group() as group:
                group.start_soon(cancelling, run, wanted)
                with suppress(RunCancelled):
                    answer = await run.answer()
                group.cancel_scope.cancel()
        if not wanted.is_set():
            break
        assert tasks == len(anyio.get_running_tasks())
        assert [""] == [listed.holder for listed in await journal.runs()]
        facts = await journal.read(RUN)
        kinds = [each.event.kind for each in facts]
        if answer is not None:  # the wish came too late, and one that is suspended remembers it
            assert "cancel_requested" not in (kinds[:-1] if answer.outcome == "suspended" else kinds)
            continue
        cancelled += 1
        wish = kinds.index("cancel_requested")
        assert not {"phase_began", "step_started", "tool_started"} & set(kinds[wish:])
        assert isinstance(end := facts[-1].event, RunEnded)
        assert "cancelled" == end.outcome
        assert starts(facts) <= ends(facts).keys()
        assert {1} >= set(ends(facts).values())
        assert {each.key for each in world.used} <= begun(facts)
        with pytest.raises(RunCancelled):
            await world.orchestrator(journal, holder="another").resume(RUN)
        assert facts == await journal.read(RUN)
    assert cancelled > 10


@EACH
async def test_a_wish_to_cancel_outlives_its_process(scenario: Scenario) -> None:
    """Cut anywhere after the wish, the run is cancelled by whoever takes it up, and ends once."""
    whole = await undisturbed(scenario)
    for length in range(1, scenario.facts):
        journal = await journal_of(RUN, whole.facts[:length])
        writer = await journal.claim(RUN, holder="a visitor", ttl=60, scope=WORD)
        await writer.append((CancelRequested(why="enough"), 0.0))
        world = World(scenario)
        for _ in range(2):
            with pytest.raises(RunCancelled):
                await world.orchestrator(journal).resume(RUN)

        facts = await journal.read(RUN)
        assert [] == list(world.outside)
        assert ["run_ended"] == [each.event.kind for each in facts[length + 1 :] if each.event.kind != "step_ended"]
        assert starts(facts) <= ends(facts).keys()
        assert {1} >= set(ends(facts).values())


@EACH
async def test_a_wish_to_cancel_may_come_too_late(scenario: Scenario) -> None:
    """What has ended well stays so."""
    whole = await undisturbed(scenario)
    late = Recorded(seq=scenario.facts + 1, time=0.0, run=RUN, event=CancelRequested())
    journal = await journal_of(RUN, [*whole.facts, late])

    assert whole.gist == (await Life.of(World(scenario), journal, RUN)).gist


class Ending(MemoryJournal):
    """A journal in which the run ends just before a visitor can say a word."""

    def __init__(self, *last: Recorded) -> None:
        super().__init__()
        self._last = last

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> MemoryWriter:
        if scope == WORD:
            await leave(self, run, self._last)
        return await super().claim(run, holder=holder, ttl=ttl, scope=scope)


async def test_a_run_may_end_while_somebody_cancels_it() -> None:
    """Then it has ended as it did, and is free."""
    whole = await undisturbed(HARBOURS)
    journal = Ending(whole.facts[-1])
    await leave(journal, RUN, whole.facts[:-1])

    assert await cancel(journal, RUN)
    assert [""] == [listed.holder for listed in await journal.runs()]
    assert whole.gist == (await Life.of(World(HARBOURS), journal, RUN)).gist


async def test_a_failed_run_can_be_cancelled() -> None:
    """It could have been resumed, and now it can't."""
    *facts, end = (await undisturbed(HARBOURS)).facts
    assert isinstance(end.event, RunEnded)
    failed = replace(end, event=replace(end.event, outcome="failed"))
    journal = await journal_of(RUN, [*facts[:15], failed])

    assert await cancel(journal, RUN)
    assert isinstance(last := (await journal.read(RUN))[-1].event, RunEnded)
    assert "cancelled" == last.outcome
    with pytest.raises(RunCancelled):
        await World(HARBOURS).live(journal, RUN)


def now() -> datetime:
    return datetime.now(UTC)


def open_files() -> set[str]:
    return set(os.listdir("/dev/fd"))


@pytest.mark.real_clock
@pytest.mark.parametrize("facts", range(1, STORM.facts, 5))
async def test_no_file_is_left(facts: int, tmp_path: Path) -> None:
    """Left after so many Facts, a run on disk is let go of, and another process takes it up at once."""
    whole, before = await undisturbed(STORM), open_files()
    world = World(dataclasses.replace(STORM, pace=STORM.pace.times(0.01)))
    async with SqliteJournal.open(tmp_path / "journal.db", now=now, synchronous="normal") as journal:
        async with world.orchestrator(journal).open(STORM.goal) as run:
            async for recorded in run.events:
                if recorded.seq == facts:
                    break
        assert [""] == [listed.holder for listed in await journal.runs()]
    assert before == open_files()
    assert ["journal.db"] == os.listdir(tmp_path)

    async with SqliteJournal.open(tmp_path / "journal.db", now=now, synchronous="normal") as journal:
        resumed = await Life.of(world, journal, RUN, holder="another")
    assert whole.gist == resumed.gist
    assert set() == resumed.repeated


@pytest.mark.real_clock
async def test_no_process_is_left() -> None:
    """A tool that waits for a process of its own is cancelled with it."""
    processes: list[int] = []
    started = anyio.Event()

    @tool
    async def wait_long() -> None:
        """Wait for somebody who says nothing."""
        async with await anyio.open_process([sys.executable, "-c", "input()"]) as process:
            processes.append(process.pid)
            started.set()
            await process.wait()

    plan = Plan(goal="wait", steps=[ToolStep(id="long", tool="wait_long")])
    async with Orchestrator(ScriptedModel([]), tools=[wait_long]).open(plan):
        await started.wait()

    with pytest.raises(ProcessLookupError):
        os.kill(processes[0], 0)
