"""Threads for blocking tools."""

import threading
from collections.abc import Iterator
from contextvars import ContextVar

import anyio
import anyio.to_thread
import pytest

from registry.tools.threads import MOST_THREADS, in_worker_thread

pytestmark = [pytest.mark.anyio, pytest.mark.real_clock]

RUN = ContextVar("RUN", default="none")


class Hanging:
    """Blocks its thread until the test is over, and counts how often it does."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.release = threading.Event()

    def __call__(self) -> str:
        self.begun.release()
        self.release.wait(30)
        return "late"


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    made = Hanging()
    yield made
    made.release.set()


async def test_a_thread_sees_what_its_caller_sees() -> None:
    """Context variables of the task are visible in its thread, and what the thread sets stays there."""
    seen: dict[str, str] = {}

    def look() -> None:
        name = RUN.get()
        RUN.set("changed")
        seen[name] = threading.current_thread().name

    async def one(name: str) -> None:
        RUN.set(name)
        await in_worker_thread(look)
        assert name == RUN.get()

    async with anyio.create_task_group() as group:
        for name in "abc":
            group.start_soon(one, name)

    assert {"a", "b", "c"} == set(seen)
    assert threading.main_thread().name not in seen.values()


async def test_a_cancelled_wait_ends_at_once(hanging: Hanging) -> None:
    """The thread goes on, and what it comes to is dropped."""
    got: list[object] = []
    with anyio.fail_after(10), anyio.move_on_after(0.05) as scope:
        got.append(await in_worker_thread(hanging))

    assert scope.cancelled_caught
    hanging.release.set()
    await anyio.to_thread.run_sync(hanging.begun.acquire)
    assert [] == got


async def test_threads_that_hang_keep_nobody_from_running(hanging: Hanging) -> None:
    """Given up, they take no places: neither those of other tools nor those of the rest of the program."""
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(MOST_THREADS):
                group.start_soon(in_worker_thread, hanging)
            for _ in range(MOST_THREADS):
                await anyio.to_thread.run_sync(hanging.begun.acquire)
            group.cancel_scope.cancel()

        assert "here" == await in_worker_thread(lambda: "here")
        assert 0 == anyio.to_thread.current_default_thread_limiter().borrowed_tokens


async def test_more_than_there_are_threads_wait_for_their_turn(hanging: Hanging) -> None:
    """No more run at a time than there are places; the next one begins when one of them has ended."""
    ended: list[str] = []

    async def one() -> None:
        ended.append(await in_worker_thread(hanging))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for _ in range(MOST_THREADS + 1):
                group.start_soon(one)
            for _ in range(MOST_THREADS):
                await anyio.to_thread.run_sync(hanging.begun.acquire)
            assert not hanging.begun.acquire(blocking=False)
            hanging.release.set()

    assert ["late"] * (MOST_THREADS + 1) == ended
