"""The one envelope of events, and its one codec."""

import json
from functools import cache
from operator import attrgetter

from msgspec import DecodeError, Struct, to_builtins
from msgspec.json import Decoder, Encoder

from orchestrator.events.facts import Answered, Fact, ModelReplied, PlanReady, RunStarted, ToolEnded
from orchestrator.events.glimpses import Glimpse
from planner import Plan

Event = Fact | Glimpse


# There are thousands, and nothing in one leads back to it: the garbage collector need not go through them again and again.
class Recorded(Struct, frozen=True, kw_only=True, gc=False):
    """An event with its place. `seq` counts a run's Facts from 1 without gaps and is None for a Glimpse: it is journal
    line, SSE id and resume cursor in one. `time` is seconds since the epoch."""

    seq: int | None
    time: float
    run: str
    event: Event

    @property
    def place(self) -> int:
        """The `seq` of what is known to be a Fact."""
        assert self.seq is not None, "a Glimpse has no place"
        return self.seq


_OUTCOMES = {ModelReplied: attrgetter("key"), ToolEnded: attrgetter("key"), Answered: attrgetter("waiting")}


def outcome_of(fact: Fact) -> str:
    """What it is the outcome of: of those of its kind the first one written counts. Empty for Facts that are no outcome."""
    known = _OUTCOMES.get(type(fact))
    return known(fact) if known else ""


def outcome_key(fact: Fact) -> str:
    """What makes an outcome the only one among those of all kinds. Empty for Facts that are no outcome."""
    known = outcome_of(fact)
    return known and f"{fact.kind}/{known}"


def encode(recorded: Recorded) -> bytes:
    """One line of JSON, without the newline."""
    return _line(recorded)


def decode(line: bytes) -> Recorded:
    """The event of one line; what is not one raises `msgspec.DecodeError`. Only our own closed set of types is built."""
    return _of_lines().decode(line)


def encode_fact(fact: Fact) -> bytes:
    """A Fact without its envelope, for a journal that keeps the parts of that apart.

    Half a surrogate pair, which JSON can't hold and a model may well say, becomes a question mark. Raises `Unwritable` for what
    is no Fact, and so could never be read again.
    """
    try:
        line = _line(fact)
        if not isinstance(fact, _WITH_PLANS):  # which are what their types say: they were checked when they were made
            _of_facts().decode(line)
    except (TypeError, DecodeError) as error:
        raise Unwritable(f"this {type(fact).__name__} could not be read again: {error}") from error
    return line


def decode_fact(line: bytes) -> Fact:
    """What `encode_fact` made. Raises `msgspec.DecodeError` for all else, a Glimpse too."""
    return _of_facts().decode(line)


class Unwritable(TypeError):
    """A Fact holds what its type does not allow."""


_WITH_PLANS = (RunStarted, PlanReady)


def _as_json(value: object) -> object:
    if isinstance(value, Plan):
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__name__} can't be written down")


def _from_json(kind: type, value: object) -> object:
    assert kind is Plan
    return Plan.model_validate(value)


_encode = Encoder(enc_hook=_as_json).encode


def _line(value: Struct) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(to_builtins(value, enc_hook=_as_json), ensure_ascii=False).encode(errors="replace")


@cache
def _of_lines() -> Decoder[Recorded]:
    return Decoder(Recorded, dec_hook=_from_json)


@cache
def _of_facts() -> Decoder[Fact]:
    return Decoder(Fact, dec_hook=_from_json)
