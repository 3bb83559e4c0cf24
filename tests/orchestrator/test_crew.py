"""Workers that take what is ready and do one step after another."""

import anyio
import pytest

from orchestrator.crew import BREATH, Crew
from orchestrator.frontier import Frontier
from planner import AnyStep, Plan, Step
from planner.results import Succeeded

pytestmark = pytest.mark.anyio


class Yard:
    """Steps that take some seconds, or none at all, and how many were under way at once."""

    def __init__(self, seconds: float = 0.0, **needs: str) -> None:
        steps = [Step(id=name, task=name, depends_on=tuple(need)) for name, need in needs.items()]
        self.frontier = Frontier(Plan(goal="test", steps=steps))
        self.crew = Crew(self.frontier, self.turn)
        self.seconds, self.done, self.under_way, self.most = seconds, list[str](), 0, 0

    async def turn(self, step: AnyStep) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        if self.seconds:
            await anyio.sleep(self.seconds)
        self.under_way -= 1
        self.done.append(step.id)
        self.frontier.settle(Succeeded(step=step.id, output=""))


@pytest.mark.parametrize(
    ("seconds", "most"), [pytest.param(1.0, 3, id="steps that wait"), pytest.param(0.0, 1, id="steps that don't")]
)
async def test_as_many_workers_as_there_is_to_do_at_once(seconds: float, most: int) -> None:
    """Whatever is ready is under way at once; a worker that nobody waits for does it all alone."""
    yard, began = Yard(seconds, a="", b="", c="", d="a", e="bc"), anyio.current_time()
    await yard.crew.work()

    assert (set("abcde"), most) == (set(yard.done), yard.most)
    assert 2 * seconds == round(anyio.current_time() - began, 1)
    assert not yard.crew.at_work


async def test_others_are_heard() -> None:
    """Steps that never wait don't keep others from having their say for long."""
    yard, heard = Yard(**{f"s{number}": "" for number in range(10 * BREATH)}), list[int]()

    async def listener() -> None:
        while len(yard.done) < 10 * BREATH:
            heard.append(len(yard.done))
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(listener)
        await yard.crew.work()

    assert 5 < len(set(heard))


async def test_one_more_when_something_comes_in() -> None:
    """While steps are being done somebody may be called for what has become ready meanwhile."""
    yard = Yard(5.0, a="")
    async with anyio.create_task_group() as group:
        group.start_soon(yard.crew.work)
        await anyio.sleep(1)
        assert yard.crew.at_work
        yard.frontier.again("a")
        yard.crew.call()
        await anyio.sleep(1)
        assert 2 == yard.under_way


async def test_what_a_turn_raises_ends_it_for_all() -> None:
    """It comes out as itself."""
    yard = Yard(a="", b="")

    async def turn(step: AnyStep) -> None:
        raise ZeroDivisionError(step.id)

    with pytest.raises(ZeroDivisionError, match="a"):
        await Crew(yard.frontier, turn).work()
