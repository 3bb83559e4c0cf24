"""Facts as rows: nothing that is not what was written is ever taken for it."""

from typing import Any, get_args

import pytest
from msgspec.structs import replace

from orchestrator.errors import JournalDamaged, JournalUnusable
from orchestrator.events.facts import SCHEMA, CancelRequested, Fact, InterruptReceived, RunStarted, ToolStarted
from orchestrator.journal.records import Row, drafted, examine, recorded
from registry.tools.tool import Effect
from tests.orchestrator.events.samples import SAMPLES

FACTS = [event for event in SAMPLES if isinstance(event, get_args(Fact))]


def rows(*facts: Fact) -> list[Row]:
    return [drafted(fact, seq / 4).at("r", seq) for seq, fact in enumerate(facts, 1)]


def text(text: str) -> InterruptReceived:
    return InterruptReceived(text=text)


def started(effect: Effect) -> ToolStarted:
    return ToolStarted(key="k", scope="s", step="a", iteration=1, call_id="c", tool="t", arguments="{}", effect=effect)


def is_bad(row: Row) -> bool:
    """Whether it is told from what was written, however the run then goes on."""
    try:
        return not examine("r", [row], after=row.seq - 1).sound
    except JournalDamaged:
        return True


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.kind)
def test_what_was_written_is_sound(fact: Fact) -> None:
    """A row gives back the Fact, its place, its time and its run."""
    (row,) = examine("r", rows(fact)).sound

    assert (1, 0.25, "r", fact) == ((back := recorded("r", row)).seq, back.time, back.run, back.event)


def test_a_row_stays_what_it_is() -> None:
    """Files that are there already are read: a Fact gives the row that it always gave, checksums and all."""
    line = (
        b'{"kind":"tool_started","key":"k","scope":"s","step":"a","iteration":1,"call_id":"c","tool":"t","arguments":"{}",'
        b'"effect":"unkeyed"}'
    )
    row = drafted(started("unkeyed"), 0.25).at("r", 7)

    assert (7, 0.25, "tool_started", None, "unkeyed", 2694092148, 3243160120, line) == row


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.kind)
def test_every_bit_counts(fact: Fact) -> None:
    """A line with any one bit flipped is told from what was written."""
    (row,) = rows(fact)
    for place in range(len(row.line)):
        for bit in range(8):
            flipped = bytearray(row.line)
            flipped[place] ^= 1 << bit
            assert is_bad(row._replace(line=bytes(flipped)))


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.kind)
def test_every_byte_counts(fact: Fact) -> None:
    """A line that is torn off anywhere is told from what was written."""
    (row,) = rows(fact)
    for length in range(len(row.line)):
        assert is_bad(row._replace(line=row.line[:length]))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"seq": 2}, id="seq"),
        pytest.param({"time": 0.5}, id="time"),
        pytest.param({"kind": "tool_ended"}, id="kind"),
        pytest.param({"key": "other"}, id="key"),
        pytest.param({"effect": "pure"}, id="effect"),
        pytest.param({"head": 1}, id="head"),
        pytest.param({"crc": 1}, id="crc"),
        pytest.param({"head": None, "crc": "x"}, id="checksums of no type"),
        pytest.param({"line": None}, id="no line"),
        pytest.param({"line": "{}"}, id="a line that is text"),
    ],
)
def test_every_column_counts(change: dict[str, Any]) -> None:
    """A row in which anything else was changed is told from what was written, whatever type it became."""
    assert is_bad(rows(started("unkeyed"))[0]._replace(**change))


def test_a_row_of_another_run_is_bad() -> None:
    """A row that came into another run does not count there."""
    assert is_bad(drafted(text("a"), 1.0).at("other", 1))


def torn(row: Row) -> Row:
    return row._replace(line=row.line[:-1])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_bad_tail_can_be_missed(count: int) -> None:
    """What is bad at the end is told apart from what is sound before it."""
    all_of_them = rows(*map(text, "abcd"))
    kept, tail = all_of_them[:-count], [torn(row) for row in all_of_them[-count:]]

    examined = examine("r", kept + tail)

    assert (tuple(kept), tuple(tail)) == (examined.sound, examined.bad)


def test_damage_inside_a_run_is_refused() -> None:
    """Later records build on it, so it is said which it is and nothing is left out."""
    first, second, third = rows(*map(text, "abc"))
    with pytest.raises(JournalDamaged, match=r"run 'r', record 2: it is not what was written"):
        examine("r", [first, torn(second), third])


def test_a_gap_is_damage() -> None:
    """A record that is not there is missed, at the beginning too."""
    first, second, third = rows(*map(text, "abc"))
    with pytest.raises(JournalDamaged, match=r"record 2: it is missing"):
        examine("r", [first, third])
    with pytest.raises(JournalDamaged, match=r"record 1: it is missing"):
        examine("r", [second, third])
    with pytest.raises(JournalDamaged, match=r"record 2: it is missing"):
        examine("r", [first, torn(third)])


def test_a_duplicate_does_not_count() -> None:
    """A record that is there twice, under its own number or the next, is not taken twice."""
    first, second = rows(*map(text, "ab"))
    with pytest.raises(JournalDamaged):
        examine("r", [first, second, second])
    assert is_bad(second._replace(seq=3))


def test_a_part_of_a_run_is_examined_alone() -> None:
    """Whoever has read the first records need not read them again."""
    assert 2 == len(examine("r", rows(*map(text, "abcd"))[2:], after=2).sound)


@pytest.mark.parametrize(
    ("fact", "missable"),
    [
        pytest.param(started("pure"), True, id="a pure call"),
        pytest.param(started("keyed"), True, id="a keyed call"),
        pytest.param(started("transactional"), False, id="a transactional call"),
        pytest.param(started("unkeyed"), False, id="an unkeyed call"),
        pytest.param(CancelRequested(why="enough"), False, id="the wish to end"),
        pytest.param(text("hello"), True, id="anything else"),
    ],
)
def test_an_effect_that_was_begun_is_not_forgotten(fact: Fact, missable: bool) -> None:
    """A bad record that nothing harmful follows from can be missed. For another the run stands still."""
    bad = torn(rows(text("a"), fact)[1])
    if missable:
        assert (bad,) == examine("r", [*rows(text("a")), bad]).bad
    else:
        with pytest.raises(JournalDamaged, match=r"record 2: .* may have begun an effect"):
            examine("r", [*rows(text("a")), bad])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"kind": "interrupt_received"}, id="kind"),
        pytest.param({"effect": "pure"}, id="effect"),
        pytest.param({"effect": None}, id="no effect"),
        pytest.param({"seq": 3}, id="place"),
    ],
)
def test_what_a_bad_record_says_of_itself_is_not_believed(change: dict[str, Any]) -> None:
    """If it isn't certain what a bad record was, it may have been the beginning of an effect."""
    with pytest.raises(JournalDamaged, match="may have begun an effect"):
        examine("r", [rows(started("unkeyed"))[0]._replace(**change)])


def test_a_record_of_no_known_kind_is_refused() -> None:
    """It is what was written, but not by this version."""
    row = rows(text("a"))[0]
    line = row.line.replace(b"interrupt_received", b"rumour_received")
    foreign = replace(drafted(text("a"), 0.25), line=line).at("r", 1)
    with pytest.raises(JournalDamaged, match=r"run 'r', record 1: it is no interrupt_received that this version knows"):
        recorded("r", foreign)


def test_a_run_of_a_newer_schema_is_refused() -> None:
    """It is said which run and which versions; whatever else is in its records."""
    fact = RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02", schema=SCHEMA + 1)
    with pytest.raises(JournalUnusable, match=rf"run 'r'.* schema {SCHEMA + 1}.* up to {SCHEMA}"):
        examine("r", rows(fact, text("a")))
    examine("r", rows(RunStarted(goal="g", plan=None, inputs={}, today="2026-01-02")))
