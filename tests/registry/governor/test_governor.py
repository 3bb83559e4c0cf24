"""The governor admits so many requests at a time and so fast, the most urgent first, and survives any cancellation."""

from contextlib import suppress
from itertools import pairwise

import anyio
import pytest

from registry.budget import Amounts, Budget
from registry.calls import NO_CALL, Call
from registry.errors import CircuitOpen, ConfigurationError, ModelError, Overloaded, Unreachable
from registry.governor.breaker import FAILURES
from registry.governor.bucket import MARGIN
from registry.governor.governor import GovernedModel, Governor
from registry.governor.retry import RetryingModel
from registry.messages import Reply, Request, UserMessage
from registry.testing import CutAfter, Delay, FaultyModel, ScriptedModel
from registry.usage import Usage
from tests.registry.governor.endpoints import LimitedEndpoint, busiest

pytestmark = pytest.mark.anyio

HELLO = Request(messages=(UserMessage(text="hello"),))
GONE = Unreachable("here", "no route")


def taking(seconds: float, *, governor: Governor, replies: int = 10) -> GovernedModel:
    """A model that answers late."""
    return GovernedModel(FaultyModel(ScriptedModel(["x"] * replies), [Delay(seconds)] * replies), governor)


async def test_waiting_requests_are_served_by_rank_then_arrival():
    """The larger rank goes first, equals in the order they came."""
    governor = Governor("here", 1)
    model = taking(1, governor=governor)
    served: list[str] = []

    async def ask(name: str, rank: float) -> None:
        await model.chat(HELLO, Call(rank=rank))
        served.append(name)

    async with anyio.create_task_group() as group:
        for name, rank in [("holds the slot", 0.0), ("low", 1.0), ("first", 5.0), ("second", 5.0), ("high", 9.0)]:
            group.start_soon(ask, name, rank)
            await anyio.wait_all_tasks_blocked()

    assert ["holds the slot", "high", "first", "second", "low"] == served
    assert (1, 0) == (governor.free, governor.waiting)


async def test_no_more_requests_than_slots_are_in_flight():
    """Ten requests of a second each over two slots take five seconds, and the queue time is recorded."""
    model = taking(1, governor=Governor("here", 2))
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
    model = taking(2, governor=Governor("here", 1))

    async with anyio.create_task_group() as group:
        for name, waits in heard.items():
            group.start_soon(model.chat, HELLO, Call(label=name, rank=float(name == "first"), queued=waits.append))
            await anyio.wait_all_tasks_blocked()

    assert [] == heard["first"]
    assert [None, 2] == [wait and round(wait) for wait in heard["second"]]


async def test_an_uncontended_slot_is_taken_without_yielding():
    """Taking a free slot passes no checkpoint: the coroutine ends at its first step."""
    admitting = Governor("here", 1).admit(HELLO, NO_CALL)

    with pytest.raises(StopIteration) as done:
        admitting.send(None)

    assert 0.0 == done.value.value[2]


async def test_a_cancelled_waiter_leaves_nothing():
    """Who gives up waiting is no longer in the queue, and the others still are served."""
    governor = Governor("here", 1)
    model = taking(3, governor=governor)

    async with anyio.create_task_group() as group:
        group.start_soon(model.chat, HELLO, NO_CALL)
        await anyio.wait_all_tasks_blocked()
        with anyio.move_on_after(1):
            await model.chat(HELLO, Call(rank=9))
        assert 0 == governor.waiting

    assert 1 == governor.free


@pytest.mark.parametrize("paced", [{}, {"requests_per_minute": 60}], ids=["slots", "and a rate"])
async def test_what_is_granted_to_a_cancelled_waiter_is_passed_on(paced):
    """A waiter that is cancelled in the moment of its grant hands the slot, and its turn, to the next."""
    governor = Governor("here", 1, **paced)
    model = taking(2, governor=governor)
    served: list[str] = []

    async def ask(name: str, rank: float) -> None:
        await model.chat(HELLO, Call(rank=rank))
        served.append(name)

    async with anyio.create_task_group() as outer, anyio.create_task_group() as group:
        outer.start_soon(ask, "holds the slot", 0.0)
        await anyio.wait_all_tasks_blocked()
        outer.start_soon(ask, "next", 1.0)
        group.start_soon(ask, "cancelled", 9.0)
        await anyio.wait_all_tasks_blocked()
        gate = governor.gate
        gate.free += 1
        gate.serve(anyio.current_time() + 2)
        gate.free -= 1
        group.cancel_scope.cancel()

    assert ["holds the slot", "next"] == sorted(served)
    assert (1, 0) == (governor.free, governor.waiting)


@pytest.mark.parametrize("line", ["fine", GONE, ValueError])
async def test_the_slot_comes_back_however_the_request_ends(line):
    """Replies, errors and bugs all free the slot."""

    def says(_: Request):
        if line is ValueError:
            raise ValueError("a bug")
        return line

    governor = Governor("here", 1)

    with suppress(Unreachable, ValueError):
        await GovernedModel(ScriptedModel(says), governor).chat(HELLO, NO_CALL)

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
    inner = FaultyModel(ScriptedModel(["first", Reply(text="a", waited=0.5)]), [Delay(2)])
    model = GovernedModel(inner, Governor("here", 1))
    pieces = []

    async def read() -> None:
        pieces.extend([piece async for piece in model.stream_chat(HELLO, NO_CALL)])

    async with anyio.create_task_group() as group:
        group.start_soon(model.chat, HELLO, NO_CALL)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(read)

    assert 2.5 == pytest.approx(pieces[-1].waited, abs=0.4)


async def test_nobody_waits_past_the_deadline():
    """When no slot comes free in time the request fails as unreachable, and leaves the queue."""
    governor = Governor("here", 1)
    model = taking(9, governor=governor)

    async with anyio.create_task_group() as group:
        group.start_soon(model.chat, HELLO, NO_CALL)
        await anyio.wait_all_tasks_blocked()
        began = anyio.current_time()
        with pytest.raises(Unreachable, match="slot"):
            await model.chat(HELLO, Call(deadline=began + 3))
        assert 3 == pytest.approx(anyio.current_time() - began, abs=0.4)
        assert 0 == governor.waiting


def test_no_slots_is_a_wrong_setting():
    """A governor that could admit nobody is refused."""
    with pytest.raises(ConfigurationError):
        Governor("here", 0)


async def test_a_set_rate_is_kept_evenly():
    """Sixty a minute leave about a second apart, however many ask at once."""
    model = GovernedModel(ScriptedModel(["x"] * 10), Governor("here", 10, requests_per_minute=60))
    left: list[float] = []

    async def ask() -> None:
        await model.chat(HELLO, NO_CALL)
        left.append(anyio.current_time())

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask)

    assert all(1.0 <= later - sooner < 1.3 for sooner, later in pairwise(left))


async def test_tokens_are_set_aside_and_corrected():
    """A request waits until there is room for all that it may take; what it did not take is there for the next."""
    short = Reply(text="x", usage=Usage(requests=1, input_tokens=5, output_tokens=5))
    untold = Reply(text="x")
    model = GovernedModel(ScriptedModel([short, untold, short]), Governor("here", 10, tokens_per_minute=60_000))
    long = Request(messages=HELLO.messages, max_tokens=9_994)
    times = [anyio.current_time()]
    for _ in range(3):
        await model.chat(long, NO_CALL)
        times.append(anyio.current_time())

    assert [0, 0, 10_000 / (MARGIN * 1_000)] == pytest.approx([later - sooner for sooner, later in pairwise(times)], abs=0.4)


async def test_a_refusal_stops_everybody_for_the_stated_time():
    """Nobody else asks before the time is over that one request was told."""
    busy = Overloaded("here", "too many", status=429, retry_after=7)
    inner = ScriptedModel([busy, "x", "y"])
    model = GovernedModel(inner, Governor("here", 10))
    began = anyio.current_time()
    with pytest.raises(Overloaded):
        await model.chat(HELLO, NO_CALL)

    await model.chat(HELLO, NO_CALL)

    assert 7 == pytest.approx(anyio.current_time() - began, abs=0.4)


def test_each_event_loop_has_a_gate_of_its_own():
    """A moment on the clock of one loop means nothing in the next: a freeze there is over here."""
    governor = Governor("here", 1)

    async def ask(line: Overloaded | str) -> str:
        with anyio.fail_after(5):
            return (await GovernedModel(ScriptedModel([line]), governor).chat(HELLO, NO_CALL)).text

    with pytest.raises(Overloaded):
        anyio.run(ask, Overloaded("here", "too many", status=429, retry_after=50))

    assert "fine" == anyio.run(ask, "fine")


async def test_nobody_queues_for_an_hour():
    """Who would have to wait longer than anybody has patience for fails at once, so that a fallback may step in."""
    governor = Governor("here", 1)
    slow, told = GovernedModel(ScriptedModel([]), governor), []

    class Refusing(ScriptedModel):
        async def chat(self, request, call):
            await anyio.sleep(1)
            raise Overloaded("here", "daily limit", status=429, retry_after=3600)

    async def ask() -> None:
        with pytest.raises(Overloaded, match="asked everybody to wait; it asks to wait 36") as caught:
            await slow.chat(HELLO, NO_CALL)
        told.append(caught.value.retry_after)

    async with anyio.create_task_group() as group:
        group.start_soon(refused, GovernedModel(Refusing([]), governor))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(ask)
    await ask()

    assert [3600, 3600] == [round(seconds) for seconds in told]


async def refused(model: GovernedModel) -> None:
    with pytest.raises(ModelError):
        await model.chat(HELLO, NO_CALL)


async def opened(governor: Governor, model: GovernedModel) -> None:
    """The governor's circuit, opened by outages."""
    for _ in range(FAILURES):
        with pytest.raises(Unreachable):
            await model.chat(HELLO, NO_CALL)
    assert "open" == governor.gate.breaker.state


async def test_an_endpoint_that_keeps_failing_is_left_alone():
    """After so many outages in a row calls fail at once, unsent, and say when it is asked again."""
    governor, inner = Governor("here", 5), ScriptedModel([GONE] * FAILURES)
    model = GovernedModel(inner, governor)
    await opened(governor, model)

    with pytest.raises(CircuitOpen, match=r"asked again in 0\.5 s") as caught:
        await model.chat(HELLO, NO_CALL)

    inner.assert_used_up()
    assert Usage() == caught.value.usage


@pytest.mark.parametrize("stream", [False, True])
async def test_one_request_finds_out_for_all(stream):
    """While one probes, the others wait; when it finds the endpoint down, all hear that, and its cost is told."""
    governor = Governor("here", 5)
    busy = Overloaded("here", "down", status=503)
    model = GovernedModel(FaultyModel(ScriptedModel([busy] * (FAILURES + 1)), [None] * FAILURES + [Delay(1)]), governor)
    for _ in range(FAILURES):
        await refused(model)
    await anyio.sleep(0.6)
    errors: list[CircuitOpen] = []

    async def ask() -> None:
        with pytest.raises(CircuitOpen) as caught:
            await (anext(model.stream_chat(HELLO, NO_CALL)) if stream else model.chat(HELLO, NO_CALL))
        errors.append(caught.value)

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()

    assert [1, 0, 0, 0] == sorted((error.usage.requests for error in errors), reverse=True)
    assert [1.0] * 4 == [round(error.retry_after, 1) for error in errors]


async def test_a_probe_that_is_cancelled_leaves_its_place_to_another():
    """Who was to find out and went away does not shut the gate for ever."""
    governor = Governor("here", 5)
    model = GovernedModel(FaultyModel(ScriptedModel([GONE] * FAILURES + ["x", "y"]), [None] * FAILURES + [Delay(9)]), governor)
    await opened(governor, model)
    await anyio.sleep(0.6)
    with anyio.move_on_after(1):
        await model.chat(HELLO, NO_CALL)

    assert "x" == (await model.chat(HELLO, NO_CALL)).text
    assert "closed" == governor.gate.breaker.state


async def test_a_reply_that_was_cut_is_no_outage():
    """An endpoint that begins to answer is not down."""
    governor = Governor("here", 5)
    model = GovernedModel(FaultyModel(ScriptedModel(["x"] * 9), [CutAfter(0)] * 9), governor)
    for _ in range(9):
        await refused(model)

    assert "closed" == governor.gate.breaker.state


@pytest.mark.parametrize("budgeted", [False, True])
async def test_a_deadline_of_the_callers_is_no_outage(budgeted):
    """Callers in a hurry don't make the endpoint look dead, nor do budgets."""
    governor = Governor("here", 5)

    class Late(ScriptedModel):
        async def chat(self, request, call):
            await anyio.sleep_until(call.ends)
            raise Unreachable("here", "no answer when its deadline came")

    for _ in range(2 * FAILURES):
        now = anyio.current_time()
        call = Call(budget=Budget(Amounts(seconds=1.0), since=now)) if budgeted else Call(deadline=now + 1)
        with pytest.raises(Unreachable):
            await GovernedModel(Late([]), governor).chat(HELLO, call)

    assert "closed" == governor.gate.breaker.state


AGENTS, LAPS, LIMIT = 100, 5, 20


async def fan_out(endpoint: LimitedEndpoint, governor: Governor, laps: int = LAPS) -> None:
    """A hundred agents ask so many times each, the last one's rank highest."""

    async def agent(rank: int) -> None:
        model = RetryingModel(GovernedModel(endpoint, governor), jitter=lambda: rank / AGENTS)
        for _ in range(laps):
            await model.chat(HELLO, Call(rank=float(rank)))

    async with anyio.create_task_group() as group:
        for rank in range(AGENTS):
            group.start_soon(agent, rank)


SET = {"requests_per_minute": 60 * LIMIT}


@pytest.mark.parametrize(
    ("about", "set_"),
    [
        pytest.param({"tells": True}, {}, id="told in headers"),
        pytest.param({}, {}, id="found out by refusals"),
        pytest.param({"retry_after": None}, {}, id="found out by refusals that say nothing"),
        pytest.param({}, SET, id="set"),
        pytest.param({"tells": True}, SET, id="set and told"),
    ],
)
async def test_a_hundred_agents_keep_to_a_rate(about, set_):
    """After the first second one request in a hundred is refused at most, and nine tenths of the rate are used."""
    endpoint = LimitedEndpoint(LIMIT, **about)
    await fan_out(endpoint, Governor("here", AGENTS, **set_))

    assert AGENTS * LAPS == len(endpoint.taken)
    sent = [moment for moment, _ in endpoint.taken if moment > 1]
    late = [moment for moment in endpoint.refused if moment > 1]
    assert len(late) <= 0.01 * (len(sent) + len(late))
    assert len(sent) / (endpoint.taken[-1][0] - 1) >= 0.9 * LIMIT


@pytest.mark.parametrize("set_", [{}, SET], ids=["found out", "set"])
async def test_a_hundred_agents_leave_in_rank_order(set_):
    """Once somebody has to wait, the most urgent of all leaves first, those that were refused among them."""
    endpoint = LimitedEndpoint(LIMIT)
    await fan_out(endpoint, Governor("here", AGENTS, **set_), laps=1)

    ranks = [rank for moment, rank in endpoint.taken if moment > 1.1]
    assert len(ranks) > AGENTS - LIMIT - 5
    assert sorted(ranks, reverse=True) == ranks


@pytest.mark.parametrize("about", [{"tells": True}, {}], ids=["told in headers", "found out"])
async def test_an_endpoint_that_dies_for_a_while(about):
    """No call fails, few are sent in vain, and when it is back they come no faster than before."""
    endpoint = LimitedEndpoint(LIMIT, down=(10.0, 13.0), latency=0.5, **about)
    await fan_out(endpoint, Governor("here", AGENTS))

    assert AGENTS * LAPS == len(endpoint.taken)
    assert busiest([moment for moment, _ in endpoint.taken if moment >= 13]) <= 1.2 * LIMIT
    assert [] == [moment for moment in endpoint.refused if moment > 1]
    assert len(endpoint.lost) < 2 * LIMIT
    assert min(moment for moment, _ in endpoint.taken if moment >= 13) < 14.5
