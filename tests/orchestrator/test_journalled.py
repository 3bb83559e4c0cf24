"""Every call has a key, is written down, and is never paid for twice."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from orchestrator.events.facts import Answered, ModelFailed, ModelReplied, ToolEnded, ToolStarted
from orchestrator.journalled import JournalledModel, JournalledTools
from orchestrator.ledger import Ledger, private_ledger
from orchestrator.waiting import Decision, Waiting
from registry.builtin import ask_user
from registry.calls import Call, InDoubt
from registry.errors import Overloaded, ToolDenied, Truncated, Unreachable
from registry.messages import Piece, Reply, Request, Reset, TextPiece, ToolCall, UserMessage
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.testing import CutAfter, FaultyModel, ScriptedModel, says
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import ABSENT, Effect, Observation
from registry.usage import UNMETERED

pytestmark = pytest.mark.anyio

CALL = Call(run="r", scope="step/x", label="x", iteration=1)
WANTED = ToolCall(id="call_1", name="work", arguments="{}")


def asking(text: str) -> Request:
    return Request(messages=(UserMessage(text=text),))


async def next_life(ledger: Ledger, *, without: type | tuple[type, ...] = ()) -> Ledger:
    """A ledger with the same past, but for Facts of the type `without`: those were never written."""
    again = await private_ledger()
    for recorded in ledger.facts:
        if not isinstance(recorded.event, without):
            await again.record(recorded.event)
    return again


async def streamed(model: Model, request: Request, call: Call = CALL) -> list[Piece]:
    async with aclosing(model.stream_chat(request, call)) as pieces:
        return [piece async for piece in pieces]


def keys(ledger: Ledger) -> list[str]:
    return [recorded.event.key for recorded in ledger.facts if isinstance(recorded.event, ModelReplied | ToolEnded)]


async def test_a_call_is_paid_once() -> None:
    """What was answered in an earlier life is given out again, to the letter, and counted as reused."""
    first = await private_ledger()
    with ScriptedModel(["yes"]) as model:
        reply = await JournalledModel(model, first).chat(asking("?"), CALL)
        second = await next_life(first)
        again = await JournalledModel(model, second).chat(asking("?"), CALL)

    assert reply == again
    assert (0, 1) == (first.reused, second.reused)
    assert 1 == second.state.usage.requests


async def test_equal_calls_are_calls_of_their_own() -> None:
    """Asked twice, a model may answer twice: each answer has its key, and comes back in its place."""
    first = await private_ledger()
    with ScriptedModel(["heads", "tails"]) as coin:
        thrown = [(await JournalledModel(coin, first).chat(asking("?"), CALL)).text for _ in range(2)]
        second = await next_life(first)
        again = [(await JournalledModel(coin, second).chat(asking("?"), CALL)).text for _ in range(2)]

    assert ["heads", "tails"] == thrown == again
    assert 2 == len(set(keys(first)))


async def test_a_key_does_not_depend_on_what_else_is_asked() -> None:
    """In a life with other calls before it, or the same ones in another order, a call still finds its answer."""
    first = await private_ledger()
    answers = {"a": "A", "b": "B", "new": "N"}
    model = ScriptedModel(lambda request: answers[request.messages[0].text])
    for text in "ab":
        await JournalledModel(model, first).chat(asking(text), CALL)
    second = await next_life(first)
    again = [(await JournalledModel(model, second).chat(asking(text), CALL)).text for text in ("new", "b", "a")]

    assert ["N", "B", "A"] == again
    assert 3 == len(model.requests)


async def test_who_asks_matters() -> None:
    """The same question in another scope, for another purpose or in another attempt is another call."""
    ledger = await private_ledger()
    callers = [CALL, replace(CALL, scope="step/y"), replace(CALL, purpose="compaction"), replace(CALL, attempt=2)]
    with ScriptedModel(["1", "2", "3", "4"]) as model:
        for caller in callers:
            await JournalledModel(model, ledger).chat(asking("?"), caller)

    assert 4 == len(set(keys(ledger)))


async def test_what_a_person_sees_of_a_call_is_not_in_its_key() -> None:
    """Label, lap, rank and deadline may differ in the next life."""
    first = await private_ledger()
    shown = replace(CALL, label="renamed", iteration=7, rank=3.0, deadline=1e9)
    with ScriptedModel(["yes"]) as model:
        await JournalledModel(model, first).chat(asking("?"), CALL)
        await JournalledModel(model, await next_life(first)).chat(asking("?"), shown)


@pytest.mark.parametrize(
    "error", [pytest.param(Overloaded("m", "busy"), id="free"), pytest.param(Unreachable("m", "gone"), id="dear")]
)
async def test_a_failure_is_no_result(error: Overloaded | Unreachable) -> None:
    """It is written down with its cost, passes, and the next life asks again under the same key."""
    error.usage = UNMETERED
    first = await private_ledger()
    with ScriptedModel([error, "yes"]) as model:
        with pytest.raises(type(error)):
            await JournalledModel(model, first).chat(asking("?"), CALL)
        second = await next_life(first)
        reply = await JournalledModel(model, second).chat(asking("?"), CALL)

    failed = [recorded.event for recorded in second.facts if isinstance(recorded.event, ModelFailed)]
    assert [(type(error).__name__, str(error), UNMETERED)] == [(fact.error, fact.message, fact.usage) for fact in failed]
    assert [failed[0].key] == keys(second)
    assert "yes" == reply.text
    assert 2 == second.state.usage.requests


async def test_time_in_a_queue_is_not_time_at_work() -> None:
    """The seconds of a reply are those since it was asked for, without those it waited for its turn."""

    class Queued(ModelLayer):
        async def chat(self, request: Request, call: Call) -> Reply:
            await anyio.sleep(10)
            return replace(await self._inner.chat(request, call), waited=7.0)

    ledger = await private_ledger()
    await JournalledModel(Queued(ScriptedModel(["yes"])), ledger).chat(asking("?"), CALL)

    (fact,) = [recorded.event for recorded in ledger.facts]
    assert isinstance(fact, ModelReplied)
    assert 3.0 == pytest.approx(fact.seconds, abs=0.1)


async def test_a_stream_is_paid_once() -> None:
    """A replayed stream gives the whole text, then the reply; the first one came piece by piece."""
    first = await private_ledger()
    with ScriptedModel(["one two"]) as model:
        live = await streamed(JournalledModel(model, first), asking("?"))
        again = await streamed(JournalledModel(model, await next_life(first)), asking("?"))

    assert [TextPiece("one "), TextPiece("two")] == live[:-1]
    assert [TextPiece("one two"), live[-1]] == again


async def test_a_chat_and_a_stream_are_one_question() -> None:
    """How the answer arrives is not part of what was asked."""
    first = await private_ledger()
    with ScriptedModel(["yes"]) as model:
        reply = await JournalledModel(model, first).chat(asking("?"), CALL)
        pieces = await streamed(JournalledModel(model, await next_life(first)), asking("?"))

    assert reply == pieces[-1]


async def test_a_reply_is_written_before_it_is_shown() -> None:
    """Who sees the whole reply may die the next moment: it is in the journal."""
    ledger = await private_ledger()
    async with aclosing(JournalledModel(ScriptedModel(["yes"]), ledger).stream_chat(asking("?"), CALL)) as pieces:
        async for piece in pieces:
            assert isinstance(piece, Reply) == (len(keys(ledger)) == 1)


async def test_a_stream_that_breaks_is_a_failure() -> None:
    """What was shown of it is not a reply, and the next life asks again."""
    first = await private_ledger()
    model = FaultyModel(ScriptedModel(["one two three", "whole"]), [CutAfter(1)])
    with pytest.raises(Exception, match="cut after 1 pieces"):
        await streamed(JournalledModel(model, first), asking("?"))

    assert ["model_failed"] == [recorded.event.kind for recorded in first.facts]
    assert "whole" == (await streamed(JournalledModel(model, await next_life(first)), asking("?")))[0].text


async def test_a_stream_may_be_left_early() -> None:
    """Who leaves has no reply: none is written, and the model's stream is closed."""
    closed = []

    class Endless(ModelLayer):
        async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
            try:
                while True:
                    yield TextPiece("on and ")
            finally:
                closed.append(True)

    ledger = await private_ledger()
    async with aclosing(JournalledModel(Endless(ScriptedModel([])), ledger).stream_chat(asking("?"), CALL)) as pieces:
        async for _ in pieces:
            break

    assert [True] == closed
    assert [] == list(ledger.facts)


async def test_pieces_pass_as_they_are() -> None:
    """A restart of the stream below reaches who watches."""

    class Restarts(ModelLayer):
        async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
            yield TextPiece("x")
            yield Reset("again")
            yield says("y")

    pieces = await streamed(JournalledModel(Restarts(ScriptedModel([])), await private_ledger()), asking("?"))
    assert [TextPiece("x"), Reset("again"), says("y")] == pieces


class Silent(ModelLayer):
    """A model that never answers, or falls silent in the middle of a stream."""

    async def chat(self, request: Request, call: Call) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        yield TextPiece("well, ")
        await anyio.sleep_forever()


@pytest.mark.parametrize("stream", [pytest.param(False, id="chat"), pytest.param(True, id="stream")])
async def test_a_deadline_ends_the_wait_for_a_silent_model(stream: bool) -> None:
    """It is a failed call that cost nobody knows what, also for models that look at no clock."""
    ledger = await private_ledger()
    began = anyio.current_time()
    model, call = JournalledModel(Silent(ScriptedModel([])), ledger), replace(CALL, deadline=began + 30)

    with pytest.raises(Unreachable, match="no reply before the deadline") as late:
        await (streamed(model, asking("?"), call) if stream else model.chat(asking("?"), call))

    assert 30 <= anyio.current_time() - began < 31
    assert UNMETERED == late.value.usage == ledger.state.usage
    assert ["model_failed"] == [recorded.event.kind for recorded in ledger.facts]


async def test_a_stream_without_a_reply_is_a_failure() -> None:
    """What a broken model has shown was paid for, so it is written down."""

    class Mumbles(ModelLayer):
        async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
            yield TextPiece("well, ")

    ledger = await private_ledger()
    with pytest.raises(Truncated, match="without a reply"):
        await streamed(JournalledModel(Mumbles(ScriptedModel([])), ledger), asking("?"))

    assert ["model_failed"] == [recorded.event.kind for recorded in ledger.facts]
    assert UNMETERED == ledger.state.usage


async def test_cancelling_is_no_failure() -> None:
    """A call that its caller gave up is neither answered nor failed, and its deadline has nothing to do with it."""
    ledger = await private_ledger()
    call = replace(CALL, deadline=anyio.current_time() + 30)
    with anyio.move_on_after(1) as scope:
        await JournalledModel(Silent(ScriptedModel([])), ledger).chat(asking("?"), call)

    assert scope.cancelled_caught
    assert [] == list(ledger.facts)


class Bench:
    """A tool of some effect, what it did, and its calls in the lives of a run."""

    def __init__(self, effect: Effect, *, returns: str = "done", **traits: Any) -> None:
        self.done: list[str] = []
        self.facts_at_work: list[int] = []

        @tool(effect=effect, **traits)
        async def work(call: Call) -> str:
            """Do it."""
            self.done.append(call.key)
            self.facts_at_work.append(len(list(self.ledger.facts)))
            return returns

        self.tools = ToolRegistry([work])

    async def observe(self, ledger: Ledger, wanted: ToolCall = WANTED, call: Call = CALL) -> Observation | Waiting:
        self.ledger = ledger
        tools = JournalledTools(self.tools, ledger)
        _, call = tools.keyed(wanted, call)
        return tools.recall(call) or await tools.observe(wanted, call)

    async def crashed(self) -> Ledger:
        """The ledger of a life after one that ended while the tool was at work."""
        first = await private_ledger()
        await self.observe(first)
        return await next_life(first, without=ToolEnded)


async def answer(ledger: Ledger, waiting: Observation | Waiting, decision: Decision, text: str = "") -> None:
    assert isinstance(waiting, Waiting)
    await ledger.record(Answered(waiting=waiting.id, key=waiting.key, decision=decision, text=text))


def kinds(ledger: Ledger) -> list[str]:
    return [recorded.event.kind for recorded in ledger.facts]


async def test_intent_first_outcome_after() -> None:
    """Before a tool runs its intent is in the journal, and its outcome after it, under one key."""
    ledger, bench = await private_ledger(), Bench("unkeyed")
    seen = await bench.observe(ledger)

    assert isinstance(seen, Observation)
    assert "done" == seen.text
    started, ended = [recorded.event for recorded in ledger.facts]
    assert isinstance(started, ToolStarted)
    assert isinstance(ended, ToolEnded)
    assert [1] == bench.facts_at_work
    assert [started.key] == bench.done == [ended.key]
    assert ("call_1", "work", "{}", "unkeyed") == (started.call_id, started.tool, started.arguments, started.effect)


@pytest.mark.parametrize("effect", ["pure", "keyed", "transactional", "unkeyed"])
async def test_a_finished_call_is_not_made_again(effect: Effect) -> None:
    """Whatever its effect, its outcome is given out again."""
    first, bench = await private_ledger(), Bench(effect)
    seen = await bench.observe(first)
    second = await next_life(first)

    assert seen == await bench.observe(second)
    assert 1 == len(bench.done)
    assert 1 == second.reused


@pytest.mark.parametrize("effect", ["pure", "keyed"])
async def test_what_does_no_harm_is_done_again(effect: Effect) -> None:
    """A call that was begun and has no outcome runs again, under the same key, and its intent stands once."""
    first, bench = await private_ledger(), Bench(effect)
    await bench.observe(first)
    second = await next_life(first, without=ToolEnded)
    await bench.observe(second)

    assert 2 == len(bench.done)
    assert 1 == len(set(bench.done))
    assert ["tool_started", "tool_ended"] == [recorded.event.kind for recorded in second.facts]


@pytest.mark.parametrize("effect", ["transactional", "unkeyed"])
async def test_what_may_have_happened_is_in_doubt(effect: Effect) -> None:
    """It is not done again, dropped or guessed: somebody has to say. Asking changes nothing."""
    first, bench = await private_ledger(), Bench(effect)
    await bench.observe(first)
    second = await next_life(first, without=ToolEnded)
    doubts = [await bench.observe(await next_life(second)) for _ in range(2)]

    what = "work was begun with {}, and nobody knows whether it happened"
    assert [Waiting(step="x", key=bench.done[0], what=what, kind="in_doubt")] * 2 == doubts
    assert 1 == len(bench.done)


async def test_an_answer_to_a_doubt_is_used_once() -> None:
    """What is done again because a person says so is begun anew in the journal, and if that is cut off they are asked anew."""
    bench = Bench("unkeyed")
    second = await bench.crashed()
    doubt = await bench.observe(second)
    third = await next_life(second)
    await answer(third, doubt, "retry")
    seen = await bench.observe(third)
    again = await bench.observe(await next_life(third, without=ToolEnded))

    assert isinstance(seen, Observation)
    assert ["tool_started", "answered", "tool_started", "tool_ended"] == kinds(third)
    assert isinstance(again, Waiting)
    assert (2, True) == (again.nth, again != doubt)
    assert 2 == len(bench.done)


@pytest.mark.parametrize(
    ("policy", "decision"),
    [
        pytest.param("skip", None, id="policy"),
        pytest.param("ask", "skip", id="person"),
        pytest.param("ask", "happened", id="it happened"),
    ],
)
async def test_what_stands_for_an_outcome_is_written_down(policy: InDoubt, decision: Decision | None) -> None:
    """It is the outcome from then on: the next life asks nobody."""
    bench, call = Bench("unkeyed"), replace(CALL, in_doubt=policy)
    second = await bench.crashed()
    if decision is not None:
        doubt = await bench.observe(second, call=call)
        second = await next_life(second)
        await answer(second, doubt, decision)
    seen = await bench.observe(second, call=call)

    assert isinstance(seen, Observation)
    assert "tool_ended" == kinds(second)[-1]
    assert seen == await bench.observe(await next_life(second))
    assert 1 == len(bench.done)


async def test_a_tool_is_asked_what_became_of_its_call() -> None:
    """What it has no record of runs under the same key, and is begun anew in the journal; what it has is the outcome."""
    records = {}
    bench = Bench("transactional", probe=lambda key: records.get(key, ABSENT))
    absent = await bench.crashed()
    await bench.observe(absent)
    records[bench.done[0]] = "sent at noon"
    recorded = await next_life(absent, without=ToolEnded)
    seen = await bench.observe(recorded)

    assert isinstance(seen, Observation)
    assert "sent at noon" == seen.text
    assert ["tool_started", "tool_started", "tool_ended"] == kinds(absent) == kinds(recorded)
    assert 1 == len(set(bench.done))
    assert 2 == len(bench.done)


async def test_nothing_begins_before_it_is_allowed() -> None:
    """No intent is written while a person has not spoken; a no is the outcome, a yes lets the call begin once."""
    bench = Bench("unkeyed", requires_approval=True)
    first = await private_ledger()
    asked = await bench.observe(first)
    assert [] == kinds(first) == bench.done

    denied, allowed = await next_life(first), await next_life(first)
    await answer(denied, asked, "reject", "no")
    await answer(allowed, asked, "approve")
    with pytest.raises(ToolDenied):
        await bench.observe(denied)
    seen = await bench.observe(allowed)

    assert isinstance(seen, Observation)
    assert ["answered", "tool_started", "tool_ended"] == kinds(allowed)
    another = await bench.observe(allowed)
    assert isinstance(another, Waiting)
    assert another.key != bench.done[0]


async def test_an_answer_of_the_user_is_an_outcome() -> None:
    """It is written down like what a tool returned, and nothing was begun for it."""
    first = await private_ledger()
    wanted = ToolCall(id="1", name="ask_user", arguments='{"question": "Which?"}')
    tools = JournalledTools(ToolRegistry([ask_user]), first)
    _, call = tools.keyed(wanted, CALL)
    await answer(first, await tools.observe(wanted, call), "answer", "North")
    seen = await tools.observe(wanted, call)

    assert seen == first.state.observations[call.key]
    assert ["answered", "tool_ended"] == kinds(first)


async def test_looking_ahead_changes_nothing() -> None:
    """What a call will wait for can be said before its turn; what will just run, or has ended, waits for nothing."""
    allowed, free = Bench("unkeyed", requires_approval=True), Bench("unkeyed")
    for bench, waits in ((allowed, True), (free, False)):
        ledger = await private_ledger()
        tools = JournalledTools(bench.tools, ledger)
        _, call = tools.keyed(WANTED, CALL)
        foreseen = await tools.foresee(WANTED, call)
        assert waits == isinstance(foreseen, Waiting)
        await tools.observed(Observation(call_id="1", name="work", text="done"), call)
        assert await tools.foresee(WANTED, call) is None
        assert await tools.foresee(replace(WANTED, name="wrok"), call) is None
        assert ["tool_ended"] == kinds(ledger)


@pytest.mark.parametrize(("effect", "times"), [pytest.param("pure", 2, id="pure"), pytest.param("unkeyed", 1, id="an effect")])
async def test_a_second_attempt_repeats_no_effect(effect: Effect, times: int) -> None:
    """A new try at a step may look again, but what it did before stays done."""
    ledger, bench = await private_ledger(), Bench(effect)
    for attempt in (1, 2):
        await bench.observe(ledger, call=replace(CALL, attempt=attempt))

    assert times == len(bench.done)


async def test_equal_calls_are_effects_of_their_own() -> None:
    """Two letters to the same address are two letters."""
    ledger, bench = await private_ledger(), Bench("unkeyed")
    for _ in range(2):
        await bench.observe(ledger)

    assert 2 == len(set(bench.done))


async def test_a_call_of_no_tool_can_be_repeated() -> None:
    """There is nothing that could have happened, so nobody is asked."""
    first, bench = await private_ledger(), Bench("unkeyed")
    wanted = replace(WANTED, name="wrok")
    seen: Sequence[Observation | Waiting] = [
        await bench.observe(first, wanted),
        await bench.observe(await next_life(first, without=ToolEnded), wanted),
    ]

    assert ["UnknownTool"] * 2 == [each.error for each in seen if isinstance(each, Observation)]
