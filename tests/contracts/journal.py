"""What every journal promises. A test module for an implementation inherits these tests and says how a journal is made."""

from contextlib import AbstractAsyncContextManager

import pytest

from orchestrator.errors import LeaseLost, UnknownRun
from orchestrator.events.facts import InterruptReceived
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import Journal, Writer


def fact(text: str) -> InterruptReceived:
    return InterruptReceived(text=text)


async def claimed(journal: Journal, run: str = "r", holder: str = "me") -> Writer:
    return await journal.claim(run, holder=holder, ttl=60.0)


class JournalContract:
    """One journal for each test, from the fixture `journals`, which opens a fresh and empty one."""

    @pytest.fixture
    def journals(self) -> AbstractAsyncContextManager[Journal]:
        raise NotImplementedError

    async def test_what_is_written_is_read(self, journals: AbstractAsyncContextManager[Journal]) -> None:
        """Facts come back in order, numbered from 1 without gaps, with the time they were given."""
        async with journals as journal:
            writer = await claimed(journal)
            written = [await writer.append(fact(text), time) for text, time in (("a", 1.5), ("b", 2.5), ("ä\U0001f600", 3.5))]

            assert tuple(written) == await journal.read("r")
            assert [(1, 1.5, "a"), (2, 2.5, "b"), (3, 3.5, "ä\U0001f600")] == [
                (recorded.seq, recorded.time, getattr(recorded.event, "text", None)) for recorded in written
            ]
            assert {"r"} == {recorded.run for recorded in written}

    async def test_runs_are_kept_apart(self, journals: AbstractAsyncContextManager[Journal]) -> None:
        """Each run has its own numbers and its own writer, and is listed, the oldest first."""
        async with journals as journal:
            one, other = await claimed(journal, "one"), await claimed(journal, "other")
            await one.append(fact("a"), 1.0)
            await other.append(fact("b"), 2.0)
            await one.append(fact("c"), 3.0)

            assert [1, 2] == [recorded.seq for recorded in await journal.read("one")]
            assert [Recorded(seq=1, time=2.0, run="other", event=fact("b"))] == list(await journal.read("other"))
            assert ("one", "other") == await journal.runs()

    async def test_an_unknown_run_is_said_so(self, journals: AbstractAsyncContextManager[Journal]) -> None:
        """Reading a run that nobody began is an error, and does not begin it."""
        async with journals as journal:
            with pytest.raises(UnknownRun, match="nope"):
                await journal.read("nope")
            assert () == await journal.runs()

    async def test_a_claim_ends_the_one_before(self, journals: AbstractAsyncContextManager[Journal]) -> None:
        """One writer at a time: who was overtaken can't write, is told by whom, and leaves no trace."""
        async with journals as journal:
            old = await claimed(journal)
            await old.append(fact("a"), 1.0)
            new = await claimed(journal, holder="another")

            with pytest.raises(LeaseLost) as lost:
                await old.append(fact("lost"), 2.0)
            await new.append(fact("b"), 3.0)
            with pytest.raises(LeaseLost):
                await old.append(fact("lost"), 4.0)

            assert old.epoch < new.epoch
            assert ("r", old.epoch, new.epoch) == (lost.value.run, lost.value.epoch, lost.value.current)
            assert ["a", "b"] == [getattr(recorded.event, "text", None) for recorded in await journal.read("r")]
            assert [1, 2] == [recorded.seq for recorded in await journal.read("r")]

    async def test_the_same_holder_may_claim_again(self, journals: AbstractAsyncContextManager[Journal]) -> None:
        """A process that was started anew takes its run up where it was, and its former self is out."""
        async with journals as journal:
            before = await claimed(journal)
            await before.append(fact("a"), 1.0)
            after = await claimed(journal)

            assert 2 == (await after.append(fact("b"), 2.0)).seq
            with pytest.raises(LeaseLost):
                await before.append(fact("lost"), 3.0)

    async def test_what_was_read_stays_as_it_was(self, journals: AbstractAsyncContextManager[Journal]) -> None:
        """Reading gives the Facts of that moment; later ones do not slip in."""
        async with journals as journal:
            writer = await claimed(journal)
            await writer.append(fact("a"), 1.0)
            read = await journal.read("r")
            await writer.append(fact("b"), 2.0)

            assert 1 == len(read)
            assert 2 == len(await journal.read("r"))

    async def test_scopes_are_claimed_apart(self, journals: AbstractAsyncContextManager[Journal]) -> None:
        """Claims of two scopes of a run hold side by side and share its numbers; a second claim of one ends the first of it."""
        async with journals as journal:
            whole = await claimed(journal)
            step = await journal.claim("r", holder="a", ttl=60.0, scope="step/1")
            await whole.append(fact("a"), 1.0)
            await step.append(fact("b"), 2.0)
            await journal.claim("r", holder="b", ttl=60.0, scope="step/1")

            assert 3 == (await whole.append(fact("c"), 3.0)).seq
            with pytest.raises(LeaseLost):
                await step.append(fact("d"), 4.0)
