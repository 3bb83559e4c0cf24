"""A Fact as one row of a table, and whether a row still is what was written."""

import zlib
from collections.abc import Iterable
from typing import NamedTuple

import orjson
from msgspec import DecodeError, Struct

from orchestrator.errors import JournalDamaged, JournalUnusable
from orchestrator.events.facts import SCHEMA, Fact, ToolStarted
from orchestrator.events.recorded import Recorded, decode_fact, encode_fact, outcome_key

_NOT_WRITTEN = "it is not what was written"


class Row(NamedTuple):
    """`key` is an outcome's, `effect` a tool's that is about to run. `line` is the Fact in JSON.

    `head` is a checksum of the run and of all that stands before it here, `crc` one of everything.
    """

    seq: int
    time: float
    kind: str
    key: str | None
    effect: str | None
    head: int
    crc: int
    line: bytes


class Draft(Struct, frozen=True, gc=False):
    """A Fact ready to be written, but for its place. Like a `Recorded` it is nothing for the garbage collector."""

    fact: Fact
    time: float
    kind: str
    key: str | None
    effect: str | None
    line: bytes

    def at(self, run: str, seq: int) -> Row:
        head = _head(run, seq, self.time, self.kind, self.key, self.effect)
        return Row(seq, self.time, self.kind, self.key, self.effect, head, zlib.crc32(self.line, head), self.line)


def drafted(fact: Fact, time: float) -> Draft:
    """Works out all that needs no look at the journal."""
    effect = fact.effect if isinstance(fact, ToolStarted) else None
    return Draft(fact, float(time), fact.kind, outcome_key(fact) or None, effect, encode_fact(fact))


class Examined(Struct, frozen=True, kw_only=True):
    """The rows of a run that are sound, and those at its end that are not, and without which it can go on."""

    sound: tuple[Row, ...]
    bad: tuple[Row, ...]


def examine(run: str, rows: Iterable[Row], *, after: int = 0) -> Examined:
    """Tell sound rows from bad ones: all rows of a run behind this `seq`, in order.

    Raises `JournalDamaged` where the run can't go on without what is bad: rows in the midst of it, or one that may be the intent
    of an effect that must not be repeated, or somebody's wish to end the run. Raises `JournalUnusable` when the run began in a
    newer version, whose Facts we would misread.
    """
    sound: list[Row] = []
    bad: list[Row] = []
    for seq, row in enumerate(rows, after + 1):
        is_sound = _is_sound(run, row)
        if is_sound and bad:
            raise JournalDamaged(_place(run, bad[0].seq), f"{_NOT_WRITTEN}, and later ones build on it")
        if not is_sound and not _can_be_missed(run, row):
            raise JournalDamaged(_place(run, row.seq), f"{_NOT_WRITTEN}, and may have begun an effect, or ended the run")
        if row.seq != seq:
            raise JournalDamaged(_place(run, seq), "it is missing")
        if is_sound and row.kind == "run_started":
            _refuse_newer(run, row)
        (sound if is_sound else bad).append(row)
    return Examined(sound=tuple(sound), bad=tuple(bad))


def read_alone(run: str, row: Row) -> Recorded:
    """The event of one row, whatever the others are. Raises `JournalDamaged`."""
    if not _is_sound(run, row):
        raise JournalDamaged(_place(run, row.seq), _NOT_WRITTEN)
    return recorded(run, row)


def recorded(run: str, row: Row) -> Recorded:
    """The event of a sound row. Raises `JournalDamaged` when it is none that we know."""
    try:
        return Recorded(seq=row.seq, time=row.time, run=run, event=decode_fact(row.line))
    except DecodeError:  # its own text may quote what was said in the run
        raise JournalDamaged(_place(run, row.seq), f"it is no {row.kind} that this version knows") from None


def _refuse_newer(run: str, row: Row) -> None:
    schema = orjson.loads(row.line).get("schema", 1)
    if schema > SCHEMA:
        raise JournalUnusable(f"of run {run!r}", f"its records have schema {schema}, and this version reads up to {SCHEMA}")


def _head(*run_and_fields: object) -> int:
    return zlib.crc32(repr(run_and_fields).encode(errors="replace"))


def _head_is_sound(run: str, row: Row) -> bool:
    return row.head == _head(run, row.seq, row.time, row.kind, row.key, row.effect)


def _is_sound(run: str, row: Row) -> bool:
    # A damaged row may have anything anywhere, of any type.
    return _head_is_sound(run, row) and isinstance(row.line, bytes) and row.crc == zlib.crc32(row.line, row.head)


def _can_be_missed(run: str, row: Row) -> bool:
    """Whether nothing happens twice, or against somebody's will, when a record is taken as never written."""
    if not _head_is_sound(run, row):
        return False
    return row.kind != "cancel_requested" and row.effect in (None, "pure", "keyed")


def _place(run: str, seq: object) -> str:
    return f"run {run!r}, record {seq}"
