"""What every journal promises. A test module for an implementation inherits these tests and says how a journal is made."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import anyio
import anyio.lowlevel
import pytest

from orchestrator.errors import LeaseLost, RunHeld, UnknownRun
from orchestrator.events.facts import Answered, Fact, InterruptReceived, ModelReplied, ToolEnded
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import WORD, Journal, Line, Listed, Writer
from registry.messages import Reply
from registry.tools.tool import Observation

TTL = 60.0


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A fresh and empty journal, and how time passes for it."""

    journal: Journal
    later: Callable[[float], Awaitable[None]]


Journals = AbstractAsyncContextManager[Opened]


def fact(text: str) -> InterruptReceived:
    return InterruptReceived(text=text)


def line(text: str, time: float = 1.0) -> Line:
    return fact(text), time


def replied(text: str, key: str = "k") -> ModelReplied:
    return ModelReplied(key=key, scope="s", purpose="step", step="a", iteration=1, reply=Reply(text=text), seconds=1.0)


def ended(text: str, key: str = "k") -> ToolEnded:
    return ToolEnded(key=key, scope="s", step="a", iteration=1, observation=Observation(call_id="c", name="t", text=text))


def answered(text: str, waiting: str = "k") -> Answered:
    return Answered(waiting=waiting, key="k", decision="answer", text=text)


def texts(recorded: tuple[Recorded, ...]) -> list[str]:
    return [getattr(each.event, "text", "") for each in recorded]


async def claimed(journal: Journal, run: str = "r", holder: str = "me") -> Writer:
    return await journal.claim(run, holder=holder, ttl=TTL)


class JournalContract:
    """One journal for each test, from the fixture `journals`."""

    @pytest.fixture
    def journals(self) -> Journals:
        raise NotImplementedError

    async def test_what_is_written_is_read(self, journals: Journals) -> None:
        """Facts come back in order, numbered from 1 without gaps, with the time they were given."""
        async with journals as opened:
            writer = await claimed(opened.journal)
            written = [*await writer.append(line("a", 1.5)), *await writer.append(line("b", 2.5), line("ä\U0001f600", 3.5))]

            assert tuple(written) == await opened.journal.read("r")
            assert [(1, 1.5, "a"), (2, 2.5, "b"), (3, 3.5, "ä\U0001f600")] == [
                (recorded.seq, recorded.time, getattr(recorded.event, "text", None)) for recorded in written
            ]
            assert {"r"} == {recorded.run for recorded in written}

    async def test_reading_goes_on_behind_a_place(self, journals: Journals) -> None:
        """A reader that knows the first Facts gets the others only, and none where there are none."""
        async with journals as opened:
            writer = await claimed(opened.journal)
            await writer.append(line("a"), line("b"), line("c"))

            assert [3] == [recorded.seq for recorded in await opened.journal.read("r", after=2)]
            assert () == await opened.journal.read("r", after=3)

    async def test_nothing_to_append_is_nothing_written(self, journals: Journals) -> None:
        """An empty append is none."""
        async with journals as opened:
            writer = await claimed(opened.journal)

            assert () == await writer.append()
            assert () == await opened.journal.read("r")

    async def test_runs_are_kept_apart(self, journals: Journals) -> None:
        """Each run has its own numbers and its own writer."""
        async with journals as opened:
            one, other = await claimed(opened.journal, "one"), await claimed(opened.journal, "other")
            await one.append(line("a"))
            await other.append(line("b", 2.0))
            await one.append(line("c"))

            assert [1, 2] == [recorded.seq for recorded in await opened.journal.read("one")]
            assert [Recorded(seq=1, time=2.0, run="other", event=fact("b"))] == list(await opened.journal.read("other"))

    async def test_runs_are_listed(self, journals: Journals) -> None:
        """The oldest first, each with how many Facts it has, since when and until when, and who works on it."""
        async with journals as opened:
            busy, done = await claimed(opened.journal, "busy"), await claimed(opened.journal, "done", "another")
            await claimed(opened.journal, "empty")
            await busy.append(line("a", 1.5), line("b", 4.0))
            await done.append(line("c", 2.0))
            await done.release()
            await opened.later(TTL / 2)
            await busy.renew()
            await opened.later(TTL / 2 + 1)

            assert (
                Listed(run="busy", facts=2, began=1.5, latest=4.0, holder="me"),
                Listed(run="done", facts=1, began=2.0, latest=2.0),
                Listed(run="empty"),
            ) == await opened.journal.runs()

    async def test_an_unknown_run_is_said_so(self, journals: Journals) -> None:
        """Reading or forgetting a run that nobody began is an error that names those there are, and does not begin it."""
        async with journals as opened:
            await claimed(opened.journal, "nape")
            for asked in (opened.journal.read("nope"), opened.journal.forget("nope")):
                with pytest.raises(UnknownRun, match=r"no run 'nope'.*nape"):
                    await asked
            assert ["nape"] == [listed.run for listed in await opened.journal.runs()]

    async def test_a_held_run_is_refused(self, journals: Journals) -> None:
        """Another can't claim what somebody holds, is told who holds it and for how long, and disturbs nobody."""
        async with journals as opened:
            writer = await claimed(opened.journal)
            await opened.later(TTL / 4)
            with pytest.raises(RunHeld, match=r"'r' is already being worked on by me") as held:
                await claimed(opened.journal, holder="another")

            assert ("r", "me") == (held.value.run, held.value.holder)
            assert TTL * 3 / 4 == pytest.approx(held.value.seconds, abs=0.1)
            assert [1] == [recorded.seq for recorded in await writer.append(line("a"))]

    async def test_what_is_released_is_free_at_once(self, journals: Journals) -> None:
        """Who lets go need not be waited for, and once overtaken takes nothing from anybody by letting go again."""
        async with journals as opened:
            old = await claimed(opened.journal)
            await old.release()
            new = await claimed(opened.journal, holder="another")
            await old.release()

            with pytest.raises(RunHeld):
                await claimed(opened.journal)
            assert old.epoch < new.epoch
            await new.append(line("a"))

    async def test_a_claim_runs_out(self, journals: Journals) -> None:
        """Who gives no sign of life is overtaken, can't write from then on, is told so, and leaves no trace."""
        async with journals as opened:
            old = await claimed(opened.journal)
            await old.append(line("a"))
            await opened.later(TTL + 1)
            new = await claimed(opened.journal, holder="another")

            for attempt in (old.append(line("lost")), old.append(), old.renew()):
                with pytest.raises(LeaseLost) as lost:
                    await attempt
                assert ("r", old.epoch, new.epoch) == (lost.value.run, lost.value.epoch, lost.value.current)
            await new.append(line("b"))
            with pytest.raises(LeaseLost):
                await old.append(line("lost"), line("lost"))

            assert ["a", "b"] == texts(await opened.journal.read("r"))
            assert [1, 2] == [recorded.seq for recorded in await opened.journal.read("r")]

    async def test_a_claim_that_ran_out_holds_until_it_is_taken(self, journals: Journals) -> None:
        """Who was asleep goes on if nobody else came."""
        async with journals as opened:
            writer = await claimed(opened.journal)
            await opened.later(TTL + 1)
            await writer.append(line("a"))

            with pytest.raises(RunHeld):
                await claimed(opened.journal, holder="another")

    @pytest.mark.parametrize("sign", [Writer.renew, Writer.append], ids=["renew", "append"])
    async def test_a_sign_of_life_prolongs_a_claim(self, journals: Journals, sign: Callable[[Writer], Awaitable[object]]) -> None:
        """Whoever renews or writes holds on for its time from then, to within a third of it."""
        async with journals as opened:
            writer = await claimed(opened.journal)
            for _ in range(4):
                await opened.later(TTL * 0.6)
                await getattr(writer, sign.__name__)()

            await opened.later(TTL * 0.6)
            with pytest.raises(RunHeld):
                await claimed(opened.journal, holder="another")
            await opened.later(TTL * 0.5)
            await claimed(opened.journal, holder="another")

    async def test_the_same_holder_may_claim_again(self, journals: Journals) -> None:
        """A process that was started anew takes its run up where it was, and its former self is out."""
        async with journals as opened:
            before = await claimed(opened.journal)
            await before.append(line("a"))
            after = await claimed(opened.journal)

            assert [2] == [recorded.seq for recorded in await after.append(line("b"))]
            for attempt in (before.append(line("lost")), before.renew()):
                with pytest.raises(LeaseLost):
                    await attempt

    async def test_what_was_read_stays_as_it_was(self, journals: Journals) -> None:
        """Reading gives the Facts of that moment; later ones do not slip in."""
        async with journals as opened:
            writer = await claimed(opened.journal)
            await writer.append(line("a"))
            read = await opened.journal.read("r")
            await writer.append(line("b"))

            assert 1 == len(read)
            assert 2 == len(await opened.journal.read("r"))

    async def test_scopes_are_claimed_apart(self, journals: Journals) -> None:
        """Somebody says a word to a run that another works on: both write, and share its numbers. Renewing tells of it."""
        async with journals as opened:
            whole = await claimed(opened.journal)
            await whole.append(line("a"))
            word = await opened.journal.claim("r", holder="a", ttl=TTL, scope=WORD)
            await word.append(line("b"))
            with pytest.raises(RunHeld):
                await opened.journal.claim("r", holder="b", ttl=TTL, scope=WORD)

            assert 2 == await whole.renew()
            assert [3] == [recorded.seq for recorded in await whole.append(line("c"))]
            assert ["a", "b", "c"] == texts(await opened.journal.read("r"))

    @pytest.mark.parametrize("outcome", [replied, ended, answered])
    async def test_the_first_outcome_of_a_key_counts(self, journals: Journals, outcome: Callable[..., Fact]) -> None:
        """A second one is not written, whoever brings it: what came first is given back. Other keys are other outcomes."""
        async with journals as opened:
            writer = await claimed(opened.journal)
            word = await opened.journal.claim("r", holder="a", ttl=TTL, scope=WORD)
            first, other = await writer.append((outcome("first"), 1.0), (outcome("other", "k2"), 1.0))
            (second,) = await word.append((outcome("second"), 2.0))
            *_, third = await writer.append(line("between"), (outcome("third"), 3.0))

            assert (first, first) == (second, third)
            assert outcome("first") == first.event
            assert [outcome("first"), outcome("other", "k2"), fact("between")] == [
                recorded.event for recorded in await opened.journal.read("r")
            ]
            assert 2 == other.seq

    async def test_two_outcomes_of_a_key_at_once(self, journals: Journals) -> None:
        """Of two that are appended together the first counts as well; the same key of another kind or run is another."""
        async with journals as opened:
            writer, other = await claimed(opened.journal), await claimed(opened.journal, "other")
            written = await writer.append((replied("a"), 1.0), (replied("b"), 1.0), (ended("c"), 1.0), (replied("d", "k2"), 1.0))
            (elsewhere,) = await other.append((replied("e"), 1.0))

            assert [1, 1, 2, 3] == [recorded.seq for recorded in written]
            assert [replied("a"), ended("c"), replied("d", "k2")] == [each.event for each in await opened.journal.read("r")]
            assert replied("e") == elsewhere.event

    async def test_a_run_is_forgotten(self, journals: Journals) -> None:
        """Nothing of it stays, nor can its last writer write into a new run of its name; other runs stay."""
        async with journals as opened:
            other, writer = await claimed(opened.journal, "other"), await claimed(opened.journal)
            await writer.append((replied("a"), 1.0))
            await other.append(line("b"))
            await writer.release()
            await opened.journal.forget("r")

            assert ["other"] == [listed.run for listed in await opened.journal.runs()]
            with pytest.raises(UnknownRun):
                await opened.journal.read("r")
            with pytest.raises(LeaseLost):
                await writer.append(line("lost"))

            again = await claimed(opened.journal)
            with pytest.raises(LeaseLost):
                await writer.append(line("lost"))
            assert [replied("new")] == [recorded.event for recorded in await again.append((replied("new"), 2.0))]
            assert ["b"] == texts(await opened.journal.read("other"))

    @pytest.mark.parametrize("scope", ["run", WORD])
    async def test_a_run_that_is_worked_on_is_not_forgotten(self, journals: Journals, scope: str) -> None:
        """Whoever holds any part of it finishes first."""
        async with journals as opened:
            writer = await opened.journal.claim("r", holder="me", ttl=TTL, scope=scope)
            await writer.append(line("a"))
            with pytest.raises(RunHeld, match="me"):
                await opened.journal.forget("r")

            assert ["a"] == texts(await opened.journal.read("r"))

    async def test_a_cancelled_append_is_whole_or_nothing(self, journals: Journals) -> None:
        """Whenever it is cancelled, all its Facts are there or none, and the run goes on without a gap."""
        async with journals as opened:
            writer = await claimed(opened.journal)

            async def append(scope: anyio.CancelScope) -> None:
                with scope:
                    await writer.append(line("a"), line("b"), line("c"))

            for steps in range(12):
                async with anyio.create_task_group() as group:
                    scope = anyio.CancelScope()
                    group.start_soon(append, scope)
                    for _ in range(steps):
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()
            await writer.append(line("end"))

            read = await opened.journal.read("r")
            times = len(read) // 3
            assert ["a", "b", "c"] * times + ["end"] == texts(read)
            assert list(range(1, len(read) + 1)) == [recorded.seq for recorded in read]
            assert times > 0

    async def test_many_write_at_once(self, journals: Journals) -> None:
        """Appends of many tasks to many runs are all there, each run's in the order in which its tasks made them."""
        async with journals as opened:
            writers = [await claimed(opened.journal, str(number)) for number in range(8)]

            async def write(writer: Writer, who: str) -> None:
                for number in range(6):
                    await writer.append(line(f"{who}{number}"), line(f"{who}{number}+"))

            async with anyio.create_task_group() as group:
                for writer in writers:
                    for who in "ab":
                        group.start_soon(write, writer, who)

            for number in range(8):
                read = await opened.journal.read(str(number))
                assert list(range(1, 25)) == [recorded.seq for recorded in read]
                for who in "ab":
                    wanted = [f"{who}{number}{end}" for number in range(6) for end in ("", "+")]
                    assert wanted == [text for text in texts(read) if text.startswith(who)]

    async def test_one_that_lost_its_claim_fails_alone(self, journals: Journals) -> None:
        """Those who write at the same moment write."""
        async with journals as opened:
            lost, kept = await claimed(opened.journal, "lost"), await claimed(opened.journal, "kept")
            await claimed(opened.journal, "lost")
            failed: list[LeaseLost] = []

            async def write(writer: Writer, text: str) -> None:
                try:
                    await writer.append(line(text))
                except LeaseLost as error:
                    failed.append(error)

            async with anyio.create_task_group() as group:
                for text in ("a", "b", "c"):
                    group.start_soon(write, kept, text)
                    group.start_soon(write, lost, text)

            assert 3 == len(failed)
            assert {"a", "b", "c"} == set(texts(await opened.journal.read("kept")))
            assert () == await opened.journal.read("lost")
