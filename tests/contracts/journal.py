"""What every journal promises. A test module for an implementation inherits these tests and says how a journal is made."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from orchestrator.errors import LeaseLost, RunHeld, UnknownRun
from orchestrator.events.facts import Answered, Fact, InterruptReceived, ModelReplied, RunEnded, StepEnded, ToolEnded
from orchestrator.events.recorded import Recorded
from orchestrator.journal.durations import LATEST, LOOKED_AT
from orchestrator.journal.protocol import WORD, Journal, Line, Listed, Outline, Writer
from planner.results import Failed, Skipped, Succeeded
from registry.messages import Reply
from registry.tools.tool import Observation
from tests.orchestrator.events.samples import SUMMARY

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


def replied_line(key: str, time: float) -> Line:
    return replied("x", key), time


def ended(text: str, key: str = "k") -> ToolEnded:
    return ToolEnded(key=key, scope="s", step="a", iteration=1, observation=Observation(call_id="c", name="t", text=text))


def took(seconds: float, *, scope: str = "step/1", like: str = "tool/t") -> StepEnded:
    return StepEnded(scope=scope, result=Succeeded(step="a", output="", seconds=seconds), like=like)


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

    async def test_a_run_at_a_glance(self, journals: Journals) -> None:
        """Its first Fact, the last one that is work on it, and whether others have said anything to it since."""
        async with journals as opened:
            writer = await claimed(opened.journal)
            await writer.append(replied_line("k1", 1.5), replied_line("k2", 2.5))
            quiet = await opened.journal.outline("r")
            await writer.append(line("hello", 3.5), (answered("yes"), 4.5))
            facts = await opened.journal.read("r")
            spoken_to = await opened.journal.outline("r")

            expected = Outline(run="r", facts=4, began=1.5, latest=4.5, holder="me", first=facts[0], work=facts[1])
            assert expected == spoken_to
            assert (False, True) == (quiet.spoken_to, spoken_to.spoken_to)

    async def test_a_run_without_facts_at_a_glance(self, journals: Journals) -> None:
        """There is nothing to show but who holds it; and one that only others have spoken to has no work."""
        async with journals as opened:
            writer = await claimed(opened.journal)
            assert Outline(run="r", holder="me") == await opened.journal.outline("r")
            await writer.append(line("hello"))

            assert await opened.journal.outline("r") == (await opened.journal.outlines("", most=1))[0]
            assert (await opened.journal.outline("r")).work is None

    async def test_the_newest_runs_by_their_prefix(self, journals: Journals) -> None:
        """So many of them, and only those before one that is named."""
        async with journals as opened:
            for run in ("a.1", "b.1", "a.2", "a%3", "a.3"):
                await (await claimed(opened.journal, run)).append(line(run))

            async def names(prefix: str, **given: Any) -> list[str]:
                return [outline.run for outline in await opened.journal.outlines(prefix, **given)]

            assert ["a.3", "a%3", "a.2", "b.1", "a.1"] == await names("", most=9)
            assert ["a.3", "a.2", "a.1"] == await names("a.", most=9)
            assert ["a.3", "a.2"] == await names("a.", most=2)
            assert ["a.1"] == await names("a.", most=2, before="a.2")
            assert [] == await names("a.", most=2, before="a.1")
            assert [] == await names("c", most=9)
            with pytest.raises(UnknownRun):
                await names("a.", most=2, before="a.9")

    async def test_runs_that_have_not_ended(self, journals: Journals) -> None:
        """By their last work: one that failed and was gone on with has not, whatever others said to one that has."""
        async with journals as opened:
            over = RunEnded(outcome="failed", summary=SUMMARY)
            for run, facts in {"begun": ("k1",), "ended": (over,), "told": (over, "word"), "again": (over, "k1")}.items():
                writer = await claimed(opened.journal, run)
                for fact_ in facts:
                    said = fact("x") if fact_ == "word" else replied("x", fact_) if isinstance(fact_, str) else fact_
                    await writer.append((said, 1.0))
            await claimed(opened.journal, "empty")

            found = await opened.journal.outlines("", most=9, unended=True)
            assert ["empty", "again", "begun"] == [outline.run for outline in found]
            assert ["empty"] == [outline.run for outline in await opened.journal.outlines("", most=1, unended=True)]

    async def test_an_unknown_run_is_said_so(self, journals: Journals) -> None:
        """Reading or forgetting a run that nobody began is an error that names those there are, and does not begin it."""
        async with journals as opened:
            await claimed(opened.journal, "nape")
            for asked in (opened.journal.read("nope"), opened.journal.outline("nope"), opened.journal.forget("nope")):
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

    async def test_how_long_steps_took_is_known_in_all_runs(self, journals: Journals) -> None:
        """By their content and by what they are like, the latest first, and what nothing is known of is left out."""
        async with journals as opened:
            one, other = await claimed(opened.journal, "one"), await claimed(opened.journal, "other")
            await one.append((took(1.0), 1.0), (took(2.0, scope="step/2"), 1.0))
            await other.append((took(3.0), 0.5))

            assert {"step/1": (3.0, 1.0), "step/2": (2.0,), "tool/t": (3.0, 2.0, 1.0)} == await opened.journal.durations(
                ["step/1", "step/2", "tool/t", "tool/u", "step/3"]
            )

    @pytest.mark.parametrize(
        "end",
        [
            pytest.param(took(1.0, like=""), id="that says nothing of others"),
            pytest.param(StepEnded(scope="step/1", result=Failed(step="a", error="E", message="m"), like="tool/t"), id="failed"),
            pytest.param(
                StepEnded(scope="step/1", result=Skipped(step="a", because_of="b", reason="r"), like="tool/t"), id="skipped"
            ),
        ],
    )
    async def test_some_ends_say_nothing_of_time(self, journals: Journals, end: StepEnded) -> None:
        """Only steps that went well count, and whose seconds are their own."""
        async with journals as opened:
            await (await claimed(opened.journal)).append((end, 1.0))

            assert {} == await opened.journal.durations(["step/1", "tool/t"])

    async def test_only_the_latest_steps_are_asked_after(self, journals: Journals) -> None:
        """However many there were."""
        async with journals as opened:
            await (await claimed(opened.journal)).append(*((took(float(number)), 1.0) for number in range(LATEST + 5)))

            latest = tuple(float(number) for number in reversed(range(5, LATEST + 5)))
            assert {"tool/t": latest} == await opened.journal.durations(["tool/t"])

    async def test_runs_of_others_tell_nothing(self, journals: Journals) -> None:
        """Where only the runs of a prefix are asked after, and the latest of those among not too many are found."""
        async with journals as opened:
            ann, bob = await claimed(opened.journal, "ann.1"), await claimed(opened.journal, "bob.1")
            await bob.append((took(0.5), 1.0))
            await ann.append(*((took(float(number)), 1.0) for number in range(LATEST + 5)))
            await bob.append((took(1.5), 1.0))

            latest = tuple(float(number) for number in reversed(range(5, LATEST + 5)))
            assert {"tool/t": latest} == await opened.journal.durations(["tool/t"], prefix="ann.")
            assert {"tool/t": (1.5, 0.5)} == await opened.journal.durations(["tool/t"], prefix="bob.")
            assert {} == await opened.journal.durations(["tool/t"], prefix="b_b.")
            await ann.append(*((took(1.0), 1.0) for _ in range(LOOKED_AT)))
            assert {} == await opened.journal.durations(["tool/t"], prefix="bob.")

    async def test_what_is_forgotten_took_no_time(self, journals: Journals) -> None:
        """Nothing is left of a forgotten run, whether or not anybody had asked before."""
        async with journals as opened:
            for run, seconds in (("one", 1.0), ("other", 2.0), ("third", 3.0)):
                writer = await claimed(opened.journal, run)
                await writer.append((took(seconds), 1.0))
                await writer.release()
            await opened.journal.forget("one")
            assert {"tool/t": (3.0, 2.0)} == await opened.journal.durations(["tool/t"])
            await opened.journal.forget("third")
            assert {"tool/t": (2.0,)} == await opened.journal.durations(["tool/t"])

    async def test_a_fresh_journal_does_not_ask_what_for(self, journals: Journals) -> None:
        """To work out the keys may take long, and is for nothing where nothing is known."""

        def keys() -> Iterator[str]:
            raise AssertionError
            yield ""

        async with journals as opened:
            assert {} == await opened.journal.durations(keys())
