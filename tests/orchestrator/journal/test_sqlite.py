"""The journal in a file: what goes wrong with files and processes. The contract of all journals is tested beside it."""

import shutil
import signal
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from orchestrator.errors import JournalDamaged, JournalUnusable, RunHeld, UnknownRun
from orchestrator.events.facts import SCHEMA, Fact, RunStarted, TailCut, ToolStarted
from orchestrator.journal.protocol import WORD
from orchestrator.ledger import Ledger, open_ledger, reopen_ledger
from registry.tools.tool import Effect
from tests.contracts.journal import TTL, claimed, fact, line, replied, texts
from tests.orchestrator.journal.child import child
from tests.orchestrator.journal.opening import Clock, in_file
from tests.scenario import ports

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


async def written(path: Path, *facts: Fact, runs: tuple[str, ...] = ("r",)) -> None:
    """A journal in which each of the runs has these Facts, and nobody is left who works on them."""
    async with in_file(path) as journal:
        for run in runs:
            writer = await claimed(journal, run)
            await writer.append(*((fact, 1.0) for fact in facts))


def change(path: Path, query: str, *values: Any) -> None:
    """Do to the file what no journal would."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(query, values)


def started(effect: Effect) -> ToolStarted:
    return ToolStarted(key="k", scope="s", step="a", iteration=1, call_id="c", tool="t", arguments="{}", effect=effect)


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


TEAR = "UPDATE facts SET line = substr(line, 1, length(line) - 1) WHERE seq >= ?"


async def test_what_was_written_outlives_the_opening(path: Path) -> None:
    """The next one reads it, goes on with the next number, and finds outcomes; nothing is left beside the file meanwhile."""
    await written(path, fact("a"), replied("first"))
    assert [path] == list(path.parent.iterdir())

    async with in_file(path) as journal:
        writer = await claimed(journal, holder="another")
        first, third = await writer.append((replied("second"), 2.0), line("c"))

        assert (2, replied("first"), 3) == (first.seq, first.event, third.seq)
        assert [fact("a"), replied("first"), fact("c")] == [recorded.event for recorded in await journal.read("r")]
        assert 2 == writer.epoch


async def test_two_openings_share_a_file(path: Path) -> None:
    """Side by side in one process: each sees what the other wrote, and a run that one holds the other can't have."""
    async with in_file(path) as one, in_file(path) as other:
        writer = await claimed(one)
        await writer.append(line("a"))
        with pytest.raises(RunHeld, match="me"):
            await claimed(other, holder="another")
        word = await other.claim("r", holder="another", ttl=TTL, scope=WORD)
        await word.append(line("b"))

        assert 2 == await writer.renew()
        assert ["b"] == texts(await one.read("r", after=1))
        assert ["me"] == [listed.holder for listed in await other.runs()]


async def test_leaving_frees_what_was_claimed(path: Path) -> None:
    """An opening that ends without letting go of its claims holds nothing any more."""
    async with in_file(path) as other:
        async with in_file(path) as journal:
            await claimed(journal)

        assert [""] == [listed.holder for listed in await other.runs()]
        await claimed(other, holder="another")


async def test_a_bad_tail_is_cut_and_said_so(path: Path) -> None:
    """Reading gives what is sound; the next claim sets the rest aside, whole, and says so in the run itself."""
    await written(path, *map(fact, "abcd"))
    change(path, TEAR, 3)
    async with in_file(path) as journal:
        assert ["a", "b"] == texts(await journal.read("r"))
        assert [(2, "")] == [(listed.facts, listed.damage) for listed in await journal.runs()]
        writer = await claimed(journal)
        await writer.append(line("e"))

        assert [fact("a"), fact("b"), TailCut(records=2), fact("e")] == [each.event for each in await journal.read("r")]
        assert [1, 2, 3, 4] == [recorded.seq for recorded in await journal.read("r")]
    with closing(sqlite3.connect(path)) as database:
        assert [(3, b'{"kind":"interrupt_received","text":"c"'), (4, b'{"kind":"interrupt_received","text":"d"')] == (
            database.execute("SELECT seq, line FROM damaged ORDER BY seq").fetchall()
        )


async def test_an_outcome_that_was_cut_is_free_again(path: Path) -> None:
    """A reply that can't be read is asked for anew, and the new one counts."""
    await written(path, fact("a"), replied("torn"))
    change(path, TEAR, 2)
    async with in_file(path) as journal:
        writer = await claimed(journal)
        (again,) = await writer.append((replied("new"), 1.0))

        assert (3, replied("new")) == (again.seq, again.event)


async def test_every_byte_of_the_last_records(path: Path) -> None:
    """Wherever the file's last three records are torn off, they are cut back to, and the run goes on."""
    async with in_file(path) as journal:
        cuts = []
        for back in (1, 2, 3):
            for length in range(len(b'{"kind":"interrupt_received","text":"a"}')):
                cuts.append((f"{back}/{length}", back, length))
                writer = await claimed(journal, cuts[-1][0])
                await writer.append(*map(line, "abcd"))
                await writer.release()
        with closing(sqlite3.connect(path)) as database, database:
            query = "UPDATE facts SET line = substr(line, 1, ?) WHERE seq > ? AND run = (SELECT id FROM runs WHERE run = ?)"
            database.executemany(query, [(length, 4 - back, run) for run, back, length in cuts])

        for run, back, _ in cuts:
            await claimed(journal, run)
            wanted = [*map(fact, "abcd"[: 4 - back]), TailCut(records=back)]
            assert wanted == [recorded.event for recorded in await journal.read(run)]


@pytest.mark.parametrize("effect", ["unkeyed", "transactional"])
async def test_an_intent_is_not_cut(path: Path, effect: Effect) -> None:
    """What may have begun an effect that must not be repeated stops the run, and stays where it is."""
    await written(path, fact("a"), started(effect), fact("b"))
    change(path, TEAR, 2)
    async with in_file(path) as journal:
        for asked in (journal.read("r"), claimed(journal), journal.claim("r", holder="x", ttl=TTL, scope=WORD)):
            with pytest.raises(JournalDamaged, match=r"run 'r', record 2: .* may have begun an effect"):
                await asked
        (listed,) = await journal.runs()

    assert ("r", "") == (listed.run, listed.holder)
    assert "record 2" in listed.damage
    with closing(sqlite3.connect(path)) as database:
        assert 3 == database.execute("SELECT count(*) FROM facts").fetchone()[0]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param("UPDATE facts SET line = substr(line, 2) WHERE seq = 2 AND run = ?", id="torn"),
        pytest.param("UPDATE facts SET crc = crc + 1 WHERE seq = 2 AND run = ?", id="checksum"),
        pytest.param("UPDATE facts SET time = 'then' WHERE seq = 2 AND run = ?", id="type"),
        pytest.param("UPDATE facts SET kind = CAST(x'ff' AS TEXT) WHERE seq = 2 AND run = ?", id="no text"),
        pytest.param("DELETE FROM facts WHERE seq = 2 AND run = ?", id="missing"),
        pytest.param("DELETE FROM facts WHERE seq = 1 AND run = ?", id="no beginning"),
        pytest.param("UPDATE facts SET seq = 9 WHERE seq = 2 AND run = ?", id="misplaced"),
        pytest.param("UPDATE facts SET run = 77 WHERE seq = 2 AND run = ?", id="moved away"),
        pytest.param("INSERT INTO facts SELECT run, 5, time, kind, key, effect, head, crc, line FROM facts "
                     "WHERE seq = 3 AND run = ?", id="duplicate"),
        pytest.param("UPDATE runs SET run = 'q' WHERE id = ?", id="name"),
    ],
)  # fmt: skip
async def test_damage_inside_stops_that_run_only(path: Path, damage: str) -> None:
    """Nothing of it is given out or gone on with; the others are read, claimed and written."""
    await written(path, *map(fact, "abcd"), runs=("good", "bad", "fine"))
    change(path, damage, 2)
    async with in_file(path) as journal:
        bad = "q" if "runs" in damage else "bad"
        for asked in (journal.read(bad), claimed(journal, bad)):
            with pytest.raises(JournalDamaged, match=f"run '{bad}', record [1-9]"):
                await asked
        for run in ("good", "fine"):
            await (await claimed(journal, run)).append(line("e"))
            assert [*"abcde"] == texts(await journal.read(run))
        assert ["", "damaged", ""] == [listed.damage and "damaged" for listed in await journal.runs()]
        await journal.forget(bad)
        assert 2 == len(await journal.runs())


async def test_a_damaged_outcome_is_not_given_out(path: Path) -> None:
    """Whoever would get it in place of its own is told, and has written nothing."""
    async with in_file(path) as journal:
        writer = await claimed(journal)
        await writer.append((replied("first"), 1.0), line("b"))
        change(path, "UPDATE facts SET line = x'7b7d' WHERE seq = 1")
        with pytest.raises(JournalDamaged, match=r"record 1"):
            await writer.append(line("c"), (replied("second"), 1.0))

        assert 2 == await writer.renew()


async def test_a_tail_is_not_cut_under_who_works_on_the_run(path: Path) -> None:
    """Somebody who wants to say a word leaves it to whoever holds the run, whose next records follow what it knows."""
    async with in_file(path) as journal:
        writer = await claimed(journal)
        await writer.append(line("a"), line("b"))
        change(path, TEAR, 2)
        with pytest.raises(RunHeld, match="me"):
            await journal.claim("r", holder="another", ttl=TTL, scope=WORD)
        await writer.release()
        await journal.claim("r", holder="another", ttl=TTL, scope=WORD)

        assert [fact("a"), TailCut(records=1)] == [recorded.event for recorded in await journal.read("r")]


async def test_a_run_of_a_newer_schema_is_refused(path: Path) -> None:
    """It is neither read nor claimed, and listed as what it is; the others go on."""
    newer = RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02", schema=SCHEMA + 1)
    await written(path, newer)
    await written(path, fact("a"), runs=("old",))
    async with in_file(path) as journal:
        for asked in (journal.read("r"), claimed(journal)):
            with pytest.raises(JournalUnusable, match=rf"run 'r'.*schema {SCHEMA + 1}"):
                await asked
        assert [True, False] == ["schema" in listed.damage for listed in await journal.runs()]
        assert ["a"] == texts(await journal.read("old"))


async def test_no_room(path: Path) -> None:
    """A full disk refuses what it can't hold, the whole of it, and says which file; what was written stays, and goes on later."""
    async with in_file(path) as journal:
        writer = await claimed(journal)
        await writer.append(line("a"))
        database = journal._commits._connection
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(JournalUnusable, match=r"journal\.db.*full"):
            await writer.append(line("b"), line("x" * 100_000))
        with pytest.raises(JournalUnusable, match=r"journal\.db.*full"):
            await writer.append(line("x" * 100_000))
        assert ["a"] == texts(await journal.read("r"))

        database.execute(f"PRAGMA max_page_count = {pages + 1000}")
        assert [2] == [recorded.seq for recorded in await writer.append(line("c"))]


async def test_a_file_that_breaks_while_it_is_used(path: Path) -> None:
    """Whatever SQLite then says is said as ours, by reading and by writing; letting go raises nothing."""
    async with in_file(path) as journal:
        writer = await claimed(journal)
        await writer.append(line("a"))
        change(path, "DROP TABLE facts")
        for asked in (writer.append(line("b")), writer.renew(), journal.read("r"), journal.runs()):
            with pytest.raises(JournalUnusable, match=r"journal\.db.*no such table"):
                await asked
        change(path, "DROP TABLE claims")
        await writer.release()


async def test_after_its_block_a_journal_is_closed(path: Path) -> None:
    """Whoever goes on with it is told."""
    async with in_file(path) as journal:
        writer = await claimed(journal)
    with pytest.raises(JournalUnusable, match="closed"):
        await writer.append(line("a"))
    with pytest.raises(JournalUnusable, match="closed"):
        await journal.runs()


FLIPS = 150


def flipped(path: Path, content: bytes, chance: Random) -> None:
    """Makes the file this content, but for one bit, and clears away what an earlier opening left beside it."""
    broken = bytearray(content)
    broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
    for left in path.parent.glob("journal.db-*"):
        left.unlink()
    path.write_bytes(broken)


async def test_a_flipped_bit_anywhere_in_the_file(path: Path) -> None:
    """Either the file is refused, or the run, or what is read is what was written, up to where it was cut."""
    await written(path, *map(fact, "abcdefgh"), *(replied(key * 900, key) for key in "xyz"), runs=("one", "two"))
    async with in_file(path) as journal:
        whole = {run: await journal.read(run) for run in ("one", "two")}
    chance, files, runs = Random(1), [], 0
    for content in [bytes_of(path)] * FLIPS:
        flipped(path, content, chance)
        try:
            async with in_file(path) as journal:
                for run in whole:
                    try:
                        read = await journal.read(run)
                    except (JournalDamaged, UnknownRun):
                        runs += 1
                    else:
                        assert whole[run][: len(read)] == read
        except (JournalDamaged, JournalUnusable) as error:
            files.append(str(error))

    assert all("journal.db" in said for said in files)
    assert 0 < len(files) < FLIPS
    assert 0 < runs < FLIPS


@contextmanager
def copied(path: Path, log: bytes) -> Iterator[Path]:
    """A copy of the database, with this as its write-ahead log."""
    copy = path.parent / "copy" / path.name
    copy.parent.mkdir()
    shutil.copy(path, copy)
    copy.with_name(f"{path.name}-wal").write_bytes(log)
    yield copy
    shutil.rmtree(copy.parent)


async def test_a_write_ahead_log_that_is_torn_off(path: Path) -> None:
    """At any byte: whole transactions are there up to it, and the run goes on from the last one."""
    async with in_file(path) as journal:
        writer = await claimed(journal)
        for number in range(4):
            await writer.append(line(f"{number}"), line(f"{number}+"))
        log, seen = bytes_of(path.with_name("journal.db-wal")), set()
        for length in (*range(0, len(log), 1999), len(log)):
            with copied(path, log[:length]) as copy:
                async with in_file(copy) as other:
                    again = await claimed(other)
                    read = texts(await other.read("r"))
                    await again.append(line("on"))
                    assert [*read, "on"] == texts(await other.read("r"))
            assert [f"{number}{end}" for number in range(len(read) // 2) for end in ("", "+")] == read
            seen.add(len(read))

    assert {0, 2, 4, 6, 8} == seen


async def test_renewing_writes_only_when_it_must(path: Path) -> None:
    """A look every second costs no write until a third of the claim's time is over."""
    clock = Clock()
    async with in_file(path, clock) as journal:
        writer = await claimed(journal)
        database = journal._commits._connection
        before = database.total_changes
        for _ in range(19):
            await clock.later(TTL / 60)
            await writer.renew()
        assert before == database.total_changes
        await clock.later(TTL / 30)
        await writer.renew()
        assert before + 1 == database.total_changes


async def test_a_ledger_in_a_file(path: Path) -> None:
    """A run's ledger goes on in the next process where the last one was cut off."""

    @asynccontextmanager
    async def ledger(again: bool) -> AsyncIterator[Ledger]:
        async with in_file(path) as journal:
            yield await (reopen_ledger if again else open_ledger)(journal, "r", ports())

    async with ledger(again=False) as first:
        await first.record(RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02"))
        await first.record(replied("a"))
    change(path, TEAR, 2)
    async with ledger(again=True) as second:
        await second.record(fact("c"))
        assert ["run_started", "tail_cut", "interrupt_received"] == [recorded.event.kind for recorded in second.facts]


@pytest.mark.real_clock
def test_a_killed_holder_is_not_waited_for(path: Path) -> None:
    """However long its claim would have lasted: the kernel knows that it is gone. While it lives, nobody else gets the run."""
    with child("write", path) as one, child("write", path) as other:
        assert "claimed 1" == one.ask("claim one 3600")
        assert "appended 1" == one.ask("append a")
        assert other.ask("claim other 3600").startswith(
            "RunHeld: run 'r' is already being worked on by one; its claim holds for 3.6e+03 s"
        )
        assert 1 == len(list(path.parent.glob("*-holder-*")))

        one.process.send_signal(signal.SIGKILL)
        one.process.wait()

        assert "claimed 2" == other.ask("claim other 3600")
        assert "appended 2" == other.ask("append b")
        assert 1 == len(list(path.parent.glob("*-holder-*")))


@pytest.mark.real_clock
def test_a_stopped_holder_is_overtaken(path: Path) -> None:
    """Its claim runs out though it lives. When it wakes up nothing of what it writes lands."""
    with child("write", path) as one, child("write", path) as other:
        assert "claimed 1" == one.ask("claim one 0.3")
        assert "appended 1" == one.ask("append a")
        one.process.send_signal(signal.SIGSTOP)
        one.tell("append lost")
        while (said := other.ask("claim other 3600")).startswith("RunHeld"):
            pass
        assert "claimed 2" == said
        one.process.send_signal(signal.SIGCONT)

        lost = "LeaseLost: run 'r' was claimed by another: our epoch is 1, the current one 2"
        assert [lost] * 5 == [one.hear(), *(one.ask(order) for order in ("append x", "renew", "append y", "append z"))]
        assert "appended 2" == other.ask("append b")
        assert one.ask("claim one 60").startswith("RunHeld")
        assert "renewed 2" == other.ask("renew")
