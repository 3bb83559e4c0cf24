"""The governor admits so many requests at a time, the most urgent first, and survives any cancellation."""

from contextlib import suppress

import anyio
import pytest

from registry.calls import NO_CALL, Call
from registry.errors import ConfigurationError, Unreachable
from registry.governor.governor import GovernedModel, Governor
from registry.messages import Reply, Request, UserMessage
from registry.testing import Delay, FaultyModel, ScriptedModel

pytestmark = pytest.mark.anyio

HELLO = Request(messages=(UserMessage(text="hello"),))


async def test_waiting_requests_are_served_by_rank_then_arrival():
    """The larger rank goes first, equals in the order they came."""
    governor = Governor("here", 1)
    served: list[str] = []

    async def ask(name: str, rank: float) -> None:
        await governor.take(rank)
        served.append(name)
        governor.give_back()

    await governor.take(0)
    async with anyio.create_task_group() as group:
        for name, rank in [("low", 1.0), ("first", 5.0), ("second", 5.0), ("high", 9.0)]:
            group.start_soon(ask, name, rank)
            await anyio.wait_all_tasks_blocked()
        governor.give_back()

    assert ["high", "first", "second", "low"] == served
    assert (1, 0) == (governor.free, governor.waiting)


async def test_no_more_requests_than_slots_are_in_flight():
    """Ten requests of a second each over two slots take five seconds, and the queue time is recorded."""
    governor = Governor("here", 2)
    inner = FaultyModel(ScriptedModel(["x"] * 10), [Delay(1)] * 10)
    model = GovernedModel(inner, governor)
    waits: list[float] = []

    async def ask() -> None:
        waits.append((await model.chat(HELLO, NO_CALL)).waited)

    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask)

    assert 5 == pytest.approx(anyio.current_time() - began, abs=0.5)
    assert [0, 0, 1, 1, 2, 2, 3, 3, 4, 4] == [round(wait) for wait in sorted(waits)]


async def test_a_call_hears_of_its_wait():
    """Who must wait hears it at once, and the seconds when it is over; who need not wait hears nothing."""
    heard: dict[str, list[float | None]] = {"first": [], "second": []}
    model = GovernedModel(FaultyModel(ScriptedModel(["a", "b"]), [Delay(2)]), Governor("here", 1))

    async with anyio.create_task_group() as group:
        for name, waits in heard.items():
            group.start_soon(model.chat, HELLO, Call(label=name, rank=float(name == "first"), queued=waits.append))
            await anyio.wait_all_tasks_blocked()

    assert [] == heard["first"]
    assert [None, 2] == [wait and round(wait) for wait in heard["second"]]


async def test_an_uncontended_slot_is_taken_without_yielding():
    """Taking a free slot passes no checkpoint: the coroutine ends at its first step."""
    taking = Governor("here", 1).take(0)

    with pytest.raises(StopIteration) as done:
        taking.send(None)

    assert 0.0 == done.value.value


async def test_a_cancelled_waiter_leaves_nothing():
    """Who gives up waiting is no longer in the queue, and the others still are served."""
    governor = Governor("here", 1)
    await governor.take(0)

    with anyio.move_on_after(1):
        await governor.take(9)

    assert 0 == governor.waiting
    governor.give_back()
    assert 1 == governor.free


async def test_a_slot_granted_to_a_cancelled_waiter_is_passed_on():
    """A waiter that is cancelled in the moment of its grant hands the slot to the next."""
    governor = Governor("here", 1)
    await governor.take(0)
    served: list[str] = []

    async def ask(name: str, rank: float) -> None:
        await governor.take(rank)
        served.append(name)
        governor.give_back()

    async with anyio.create_task_group() as outer, anyio.create_task_group() as group:
        outer.start_soon(ask, "next", 1.0)
        group.start_soon(ask, "cancelled", 9.0)
        await anyio.wait_all_tasks_blocked()
        governor.give_back()
        group.cancel_scope.cancel()

    assert "next" in served
    assert (1, 0) == (governor.free, governor.waiting)


@pytest.mark.parametrize("line", ["fine", Unreachable("here", "gone")])
async def test_the_slot_comes_back_however_the_request_ends(line):
    """Replies and errors both free the slot."""
    governor = Governor("here", 1)
    model = GovernedModel(ScriptedModel([line]), governor)

    with suppress(Unreachable):
        await model.chat(HELLO, NO_CALL)

    assert 1 == governor.free


async def test_a_stream_holds_its_slot_until_it_is_closed():
    """The slot is taken by the first piece and freed by closing, though the stream was not read to its end."""
    governor = Governor("here", 1)
    stream = GovernedModel(ScriptedModel(["a b c"]), governor).stream_chat(HELLO, NO_CALL)

    await anext(stream)
    assert 0 == governor.free
    await stream.aclose()

    assert 1 == governor.free


async def test_a_stream_records_its_queue_time():
    """The whole reply at the end of a stream says how long it queued, added to what it said before."""
    governor = Governor("here", 1)
    model = GovernedModel(ScriptedModel([Reply(text="a", waited=0.5)]), governor)
    await governor.take(0)
    pieces = []

    async def read() -> None:
        pieces.extend([piece async for piece in model.stream_chat(HELLO, NO_CALL)])

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.sleep(2)
        governor.give_back()

    assert 2.5 == pytest.approx(pieces[-1].waited, abs=0.2)


async def test_nobody_waits_past_the_deadline():
    """When no slot comes free in time the request fails as unreachable, and leaves the queue."""
    governor = Governor("here", 1)
    await governor.take(0)
    call = Call(deadline=anyio.current_time() + 3)

    with pytest.raises(Unreachable, match="slot"):
        await GovernedModel(ScriptedModel([]), governor).chat(HELLO, call)

    assert 0 == governor.waiting


def test_a_governor_needs_a_slot():
    """No slots at all would wait for ever, so they are refused."""
    with pytest.raises(ConfigurationError, match="slot"):
        Governor("here", 0)
