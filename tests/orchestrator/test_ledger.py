"""The one place where Facts are written, folded and announced; and the keys of calls."""

from contextlib import suppress
from copy import deepcopy

import anyio
import pytest
from msgspec.structs import replace

from orchestrator.errors import LeaseLost, RunHeld, UnknownRun
from orchestrator.events.facts import CancelRequested, Fact, ModelReplied, Phase, PhaseBegan, RunStarted, ToolEnded
from orchestrator.events.glimpses import AnswerBegan
from orchestrator.events.recorded import Recorded
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journal.protocol import WORD, Line, Writer
from orchestrator.ledger import Ledger, open_ledger, private_ledger, reopen_ledger
from orchestrator.state import RunState
from registry.calls import Call
from registry.testing import says
from registry.tools.tool import Observation
from tests.scenario import ports

pytestmark = pytest.mark.anyio

STARTED = RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02")
PLANNING = PhaseBegan(phase="planning")


class SlowWriter:
    """Takes a second to write, as a disk may, and notes what it was given and what others knew by then."""

    glance = None

    def __init__(self, inner: Writer) -> None:
        self.inner, self.epoch = inner, inner.epoch
        self.given: list[tuple[Fact, ...]] = []
        self.known: list[tuple[RunState, int]] = []
        self.ledger: Ledger | None = None

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        self.given.append(tuple(fact for fact, _ in lines))
        with anyio.CancelScope(shield=True):
            await anyio.sleep(1)
        written = await self.inner.append(*lines)
        assert self.ledger is not None
        self.known.append((deepcopy(self.ledger.state), len(list(self.ledger.facts))))
        return written

    async def renew(self) -> int:
        return await self.inner.renew()

    async def release(self) -> None:
        await self.inner.release()


async def slow_ledger(journal: MemoryJournal) -> tuple[Ledger, SlowWriter]:
    writer = SlowWriter(await journal.claim("r", holder="me", ttl=60))
    writer.ledger = Ledger("r", writer, journal, clock=ports().clock)
    return writer.ledger, writer


def phase(name: Phase) -> PhaseBegan:
    return PhaseBegan(phase=name)


async def test_write_first_announce_second() -> None:
    """When a Fact has been written the state does not know it yet and nobody has been told."""
    ledger, writer = await slow_ledger(MemoryJournal())
    recorded = await ledger.record(STARTED)

    assert [(RunState(), 0)] == writer.known
    assert STARTED == ledger.state.started
    assert [Recorded(seq=1, time=ports().now().timestamp(), run="r", event=STARTED)] == list(ledger.facts) == [recorded]


async def test_facts_that_come_together_are_written_together() -> None:
    """What comes while a Fact is being written waits, goes in one write after it, and is told in the journal's order."""
    journal = MemoryJournal()
    ledger, writer = await slow_ledger(journal)
    began = anyio.current_time()

    async with anyio.create_task_group() as group:
        for name in ("planning", "executing", "analyzing"):
            group.start_soon(ledger.record, phase(name))

    assert [1, 2] == [len(given) for given in writer.given]
    assert 2 == round(anyio.current_time() - began)
    assert await journal.read("r") == tuple(ledger.facts)
    assert [1, 2, 3] == [recorded.seq for recorded in ledger.facts]


async def test_what_happened_is_written_though_its_task_is_cancelled() -> None:
    """Waiting for the journal is no place to be cancelled at: a Fact that is on its way arrives, and is told."""
    journal = MemoryJournal()
    ledger, _ = await slow_ledger(journal)

    async with anyio.create_task_group() as group:
        group.start_soon(ledger.record, phase("planning"))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(ledger.record, phase("executing"))
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()

    assert ["planning", "executing"] == [each.phase for each in ledger.state.phases]
    assert 2 == len(await journal.read("r"))


async def test_what_was_entrusted_is_written_or_missed() -> None:
    """Whoever added a Fact to the write of others learns when it is written, and why it could not be."""
    journal = MemoryJournal()
    ledger, _ = await slow_ledger(journal)

    async def lead(name: Phase) -> None:
        with suppress(LeaseLost):
            await ledger.record(phase(name))

    async def write(*entrusted: Fact) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lead, "planning")
            await anyio.wait_all_tasks_blocked()
            group.start_soon(lead, "executing")
            await anyio.wait_all_tasks_blocked()
            assert [True] * len(entrusted) == [ledger.add(fact) for fact in entrusted]

    assert not ledger.add(phase("analyzing"))  # there is no write of others
    await write(phase("analyzing"))
    await ledger.written()
    assert ["planning", "executing", "analyzing"] == [each.phase for each in ledger.state.phases]

    await journal.claim("r", holder="me", ttl=60)  # from here on it is another's
    await write()
    await ledger.written()
    await write(phase("synthesis"))
    with pytest.raises(LeaseLost):
        await ledger.written()
    assert 3 == len(await journal.read("r"))


async def test_what_others_write_is_taken_in_at_its_place() -> None:
    """A Fact that somebody else wrote before ours is folded and told before ours."""
    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    heard: list[Fact] = []
    await ledger.record(STARTED)
    other = await journal.claim("r", holder="another", ttl=60, scope=WORD)
    await other.append((CancelRequested(why="enough"), 5.0))

    with ledger.listening(lambda recorded: heard.append(recorded.event), CancelRequested, PhaseBegan):
        await ledger.record(PLANNING)

    assert ledger.state.cancelled
    assert [(1, STARTED), (2, CancelRequested(why="enough")), (3, PLANNING)] == [
        (recorded.seq, recorded.event) for recorded in ledger.facts
    ]
    assert [CancelRequested(why="enough"), PLANNING] == heard


async def test_catching_up_takes_in_what_others_wrote() -> None:
    """Each Fact once, and nothing when there is nothing new."""
    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    other = await journal.claim("r", holder="another", ttl=60, scope=WORD)
    await other.append((CancelRequested(), 5.0))

    await ledger.catch_up()
    await ledger.catch_up()

    assert ledger.state.cancelled
    assert [1] == [recorded.seq for recorded in ledger.facts]


async def test_of_two_outcomes_of_a_call_the_first_counts() -> None:
    """The second is not written, and who recorded it is given the first."""
    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    first, second = (
        ToolEnded(key="k", scope="s", step="a", iteration=1, observation=Observation(call_id="c", name="t", text=text))
        for text in ("first", "second")
    )

    assert await ledger.record(first) == await ledger.record(second)
    assert "first" == ledger.state.observations["k"].text
    assert 1 == len(await journal.read("r"))


async def test_what_was_not_written_never_happened() -> None:
    """A Fact that the journal refuses is neither folded nor told; all that waited with it are told why."""
    journal = MemoryJournal()
    ledger, _ = await slow_ledger(journal)
    await anyio.sleep(61)  # nobody has heard of us for longer than our claim holds
    await journal.claim("r", holder="another", ttl=60)
    lost: list[str] = []

    async def record(name: Phase) -> None:
        with pytest.raises(LeaseLost):
            await ledger.record(phase(name))
        lost.append(name)

    async with anyio.create_task_group() as group:
        group.start_soon(record, "planning")
        group.start_soon(record, "executing")
        group.start_soon(record, "analyzing")

    assert {"planning", "executing", "analyzing"} == set(lost)
    assert [] == ledger.state.phases
    assert [] == list(ledger.facts)
    assert () == await journal.read("r")


async def test_glimpses_are_told_and_not_written() -> None:
    """A Glimpse reaches watchers, without a `seq`, and nothing else."""
    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    watcher = ledger.telling.watch()
    ledger.glimpse(AnswerBegan())

    told = await anext(watcher)

    assert (None, AnswerBegan()) == (told.seq, told.event)
    assert () == await journal.read("r")


async def test_a_reopened_ledger_knows_the_past() -> None:
    """Facts are folded and told again, and new ones go on with the next `seq`."""
    journal = MemoryJournal()
    first = await open_ledger(journal, "r", ports())
    await first.record(STARTED)
    await first.release()

    again = await reopen_ledger(journal, "r", ports())
    await again.record(PLANNING)

    assert (STARTED, [PLANNING]) == (again.state.started, again.state.phases)
    assert [(1, STARTED), (2, PLANNING)] == [(recorded.seq, recorded.event) for recorded in again.facts]
    with pytest.raises(LeaseLost):
        await first.record(PLANNING)


async def test_a_run_that_somebody_works_on_can_not_be_reopened() -> None:
    """Who tries is told who has it and how long that claim holds; whoever has it goes on."""
    journal = MemoryJournal()
    first = await open_ledger(journal, "r", ports())

    with pytest.raises(RunHeld, match="already being worked on by the process; its claim holds for 30 s more"):
        await reopen_ledger(journal, "r", ports("another"))
    await first.record(STARTED)

    assert STARTED == first.state.started


async def test_a_run_that_nobody_knows_can_not_be_reopened() -> None:
    """And asking for it does not make it known."""
    journal = MemoryJournal()

    with pytest.raises(UnknownRun, match="'nope'"):
        await reopen_ledger(journal, "nope", ports())
    assert () == await journal.runs()


def call(scope: str = "step/x", attempt: int = 1) -> Call:
    return Call(run="r", scope=scope, attempt=attempt)


async def test_keys_count_equal_calls_within_a_scope() -> None:
    """Scope, kind and digest, and a number for equal ones in the order they were made."""
    ledger = await private_ledger()

    keys = [ledger.key(call(), "step", digest) for digest in ("d", "e", "d")]

    assert ["step/x/step/d/1", "step/x/step/e/1", "step/x/step/d/2"] == keys


async def test_a_key_does_not_depend_on_other_calls() -> None:
    """Whatever else was asked before, in this scope or another, a call's key is the same."""
    busy, idle = await private_ledger(), await private_ledger()
    for scope in ("step/x", "step/y", "plan/1"):
        busy.key(call(scope), "step", "other")
    busy.key(call("step/y"), "step", "d")
    busy.key(call(), "tool", "d")

    assert idle.key(call(), "step", "d") == busy.key(call(), "step", "d")


async def test_an_attempt_has_keys_of_its_own_but_effects_do_not() -> None:
    """A second try asks its model anew, while its first effect is the first effect of the first try."""
    ledger = await private_ledger()

    asked = [ledger.key(call(attempt=attempt), "step", "d") for attempt in (1, 2, 2)]
    effects = [ledger.key(call(attempt=attempt), "tool", "d", across_attempts=True) for attempt in (1, 2, 2)]

    assert ["step/x/step/d/1", "step/x/step/d/1@2", "step/x/step/d/2@2"] == asked
    assert ["step/x/tool/d/1", "step/x/tool/d/1", "step/x/tool/d/2"] == effects


async def test_a_scope_that_is_done_again_finds_its_keys() -> None:
    """Rewound, a scope counts its calls from the first one on; those of other scopes, and what is like it by name, go on."""
    ledger = await private_ledger()
    scopes = ("step/x", "step/x#2", "step/y")

    def keys(attempt: int = 1) -> list[str]:
        return [ledger.key(Call(scope=scope, attempt=attempt), "tool", "d") for scope in scopes]

    first, second = keys(), keys()
    later = keys(attempt=2)
    ledger.rewind("step/x")

    assert [first[0], *(key.replace("/d/1", "/d/3") for key in first[1:])] == keys()
    assert second[0] == ledger.key(Call(scope="step/x"), "tool", "d")
    assert later[0] == ledger.key(Call(scope="step/x", attempt=2), "tool", "d")


async def test_what_is_jotted_goes_with_what_others_write() -> None:
    """Where a write is about to begin anyway nobody waits for it; otherwise it is a write of its own. The order stays."""
    ledger, writer = await slow_ledger(MemoryJournal())
    began = anyio.current_time()
    await ledger.jot(STARTED)
    assert 1 == round(anyio.current_time() - began, 1)

    async with anyio.create_task_group() as group:
        group.start_soon(ledger.record, phase("planning"))
        await anyio.sleep(0.1)
        group.start_soon(ledger.record, phase("executing"))
        await anyio.sleep(0.1)
        before = anyio.current_time()
        await ledger.jot(phase("analyzing"))
        assert 0 == round(anyio.current_time() - before, 1)

    assert [(STARTED,), (phase("planning"),), (phase("executing"), phase("analyzing"))] == writer.given
    assert 4 == len(list(ledger.facts))


async def test_in_memory_too_others_are_heard_in_their_place() -> None:
    """Where writing never waits a Fact still comes after those that others wrote before it, and each is told once."""
    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    await ledger.record(STARTED)
    word = await journal.claim("r", holder="other", ttl=60, scope=WORD)
    await word.append((CancelRequested(why="enough"), 2.0))
    seen = ToolEnded(key="k", scope="s", step="s", iteration=1, observation=Observation(call_id="c", name="t", text="one"))
    ended = [await ledger.record(each) for each in (seen, replace(seen, iteration=2))]

    assert ["run_started", "cancel_requested", "tool_ended"] == [recorded.event.kind for recorded in ledger.facts]
    assert ([3, 3], [1, 1]) == ([each.seq for each in ended], [each.event.iteration for each in ended])


async def test_in_memory_too_a_lost_claim_ends_the_writing() -> None:
    """Who was overtaken writes nothing more."""
    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    await journal.claim("r", holder=ports().holder(), ttl=60)

    with pytest.raises(LeaseLost):
        await ledger.record(STARTED)
    assert () == await journal.read("r")


async def test_how_often_a_call_was_answered() -> None:
    """Replies are counted by scope, purpose and attempt, in all lives of the run."""
    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    calls = [Call(scope="s@s", attempt=attempt, purpose=purpose) for attempt, purpose in [(1, "step"), (1, "step"), (2, "step")]]
    for number, call in enumerate([*calls, Call(scope="s@s", purpose="selection"), Call(scope="other")]):
        key = ledger.key(call, call.purpose, f"d{number}")
        told = {"scope": call.scope, "purpose": call.purpose, "step": "x", "iteration": 1, "seconds": 0.0}
        await ledger.record(ModelReplied(key=key, reply=says("hello"), **told))
    await ledger.release()

    for known in (ledger, await reopen_ledger(journal, "r", ports())):
        asked = [*(Call(scope="s@s", attempt=attempt) for attempt in (1, 2, 3)), Call(scope="s@s", purpose="selection")]
        assert [2, 1, 0, 1] == [known.answered(call) for call in asked]
