"""The runs that this process works on, whatever they are."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.errors import JournalUnusable, RunError, RunHeld
from orchestrator.events.facts import Answered, CancelRequested, RunSuspended
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import WHOLE_RUN, Line, Writer
from orchestrator.run import Run
from orchestrator.server.underway import Underway
from planner import ApprovalStep
from tests.orchestrator.parts import plan_of, played
from tests.orchestrator.server.driving import Held, ordinary
from tests.scenario import ports

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def underway(width: int = 2) -> AsyncGenerator[Underway, None]:
    async with anyio.create_task_group() as group:
        yield Underway(group, width=width)
        group.cancel_scope.cancel()


def opening(model: Held) -> Callable[[], AbstractAsyncContextManager[Run]]:
    return lambda: Orchestrator(model, journal=MemoryJournal()).open("goal")


async def test_a_run_waits_for_a_place() -> None:
    """And is no run that can be spoken to until then."""
    model = Held(ordinary())
    async with underway(width=1) as works:
        works.begin("a", opening(model))
        await model.until_asked(2)
        works.begin("b", opening(model))
        await anyio.sleep(1)

        assert (True, False) == (works.run("a") is not None, works.run("b") is not None)
        assert (False, True, True) == (works.waits("a"), works.waits("b"), works.full)
        model.open.set()
        await model.until_asked(4)
        assert not works.waits("b")


async def test_what_is_worked_on_is_not_begun_again() -> None:
    """However often somebody asks for that."""
    model = Held(ordinary())
    async with underway() as works:
        for _ in range(3):
            works.begin("a", opening(model))
        await model.until_asked(2)
        await anyio.sleep(5)

        assert 2 == model.asked


async def test_a_run_that_another_holds_is_theirs() -> None:
    """It is no fault, and can be tried again later."""
    tries = list[str]()

    @asynccontextmanager
    async def held() -> AsyncGenerator[Run, None]:
        tries.append("a")
        raise RunHeld("a", "another", 3.0)
        yield

    async with underway() as works:
        for _ in range(2):
            works.begin("a", held)
            await anyio.sleep(1)

        assert ["a", "a"] == tries
        assert not works.waits("a")


async def test_attaching_tells_what_kept_a_run_from_beginning() -> None:
    """The client hears of it, and is attached to nothing."""

    @asynccontextmanager
    async def unusable() -> AsyncGenerator[Run, None]:
        raise RunError("no room")
        yield

    async with underway() as works:
        with pytest.raises(RunError, match="no room"):
            await works.attach("a", unusable, unusable)
        assert () == works.attached


async def test_leaving_what_is_not_here() -> None:
    """Is said so, for whoever can end it elsewhere."""
    async with underway() as works:
        assert works.leave("a") is False


async def test_an_answer_that_comes_while_it_is_suspended() -> None:
    """The run goes on at once: nobody would wake it, for the answer is older than the suspension."""
    journal = Answering()
    plan = plan_of(ApprovalStep(id="ask", question="May I?"))
    orchestrator = Orchestrator(played(synthesis=lambda _: "done"), journal=journal, ports=ports())
    async with underway() as works:
        await works.attach("run1", lambda: orchestrator.open(plan), lambda: orchestrator.open_again("run1"))
        await anyio.sleep(1)

    kinds = [recorded.event.kind for recorded in await journal.read("run1")]
    assert kinds.index("answered") < kinds.index("run_suspended")
    assert "run_ended" == kinds[-1]


class Answering(MemoryJournal):
    """A journal into which somebody else writes an answer just before it is told that a run is suspended."""

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> Any:
        return AnsweringWriter(await super().claim(run, holder=holder, ttl=ttl, scope=scope))


class AnsweringWriter:
    glance = None

    def __init__(self, inner: Writer) -> None:
        self.epoch, self.renew, self.release, self._append = inner.epoch, inner.renew, inner.release, inner.append

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        if isinstance(lines[0][0], RunSuspended):
            (waiting,) = lines[0][0].waiting
            await self._append((Answered(waiting=waiting.id, key=waiting.key, decision="approve"), 1.0))
        return await self._append(*lines)


async def test_draining_interrupts_all_and_begins_nothing() -> None:
    """Those that wait for a place too."""
    model = Held(ordinary())
    async with underway(width=1) as works:
        works.begin("a", opening(model))
        works.begin("b", opening(model))
        await model.until_asked(2)
        await works.drain()
        works.begin("c", opening(model))

        assert [False] * 3 == [works.waits(name) or works.run(name) is not None for name in "abc"]
        assert 2 == model.left


@pytest.mark.parametrize("leaves", [True, False], ids=["its client leaves", "the server ends"])
async def test_an_attached_run_is_cancelled_and_not_interrupted(leaves: bool) -> None:
    """However long it takes to write that down; and its calls end."""
    model, journal = Held(ordinary()), Slow()
    orchestrator = Orchestrator(model, journal=journal, ports=ports())
    async with underway() as works:
        await works.attach("run1", lambda: orchestrator.open("goal"), lambda: orchestrator.open_again("run1"))
        await model.until_asked(2)
        if leaves:
            assert works.leave("run1")
        await works.drain()

    kinds = [recorded.event.kind for recorded in await journal.read("run1")]
    assert (1, 0, "run_ended") == (kinds.count("cancel_requested"), kinds.count("run_interrupted"), kinds[-1])
    assert 2 == model.left


async def test_what_can_not_be_cancelled_is_interrupted() -> None:
    """Where the journal does not take it down, the run is let go of all the same."""
    model, journal = Held(ordinary()), Slow()
    orchestrator = Orchestrator(model, journal=journal, ports=ports())
    async with underway() as works:
        await works.attach("run1", lambda: orchestrator.open("goal"), lambda: orchestrator.open_again("run1"))
        await model.until_asked(2)
        journal.refuses = True
        works.leave("run1")
        await works.drain()

    assert 2 == model.left


class Slow(MemoryJournal):
    """A journal that takes its time, and may not take down that a run is cancelled."""

    refuses = False

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> Any:
        return SlowWriter(await super().claim(run, holder=holder, ttl=ttl, scope=scope), self)


class SlowWriter:
    glance = None

    def __init__(self, inner: Writer, journal: Slow) -> None:
        self.epoch, self.renew, self.release, self._append = inner.epoch, inner.renew, inner.release, inner.append
        self._journal = journal

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        if self._journal.refuses and isinstance(lines[0][0], CancelRequested):
            raise JournalUnusable("j.sqlite3", "the disk is full")
        await anyio.sleep(0.1)
        return await self._append(*lines)
