"""The one envelope of events, and its one codec."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import Discriminator, TypeAdapter
from pydantic_core import PydanticSerializationError, SchemaSerializer

from orchestrator.events.facts import Answered, Fact, ModelReplied, ToolEnded
from orchestrator.events.glimpses import Glimpse

Event = Fact | Glimpse


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event with its place. `seq` counts a run's Facts from 1 without gaps and is None for a Glimpse: it is journal
    line, SSE id and resume cursor in one. `time` is seconds since the epoch."""

    seq: int | None
    time: float
    run: str
    event: Annotated[Event, Discriminator("kind")]

    @property
    def place(self) -> int:
        """The `seq` of what is known to be a Fact."""
        assert self.seq is not None, "a Glimpse has no place"
        return self.seq


def outcome_of(fact: Fact) -> str:
    """What it is the outcome of: of those of its kind the first one written counts. Empty for Facts that are no outcome."""
    match fact:
        case ModelReplied(key=key) | ToolEnded(key=key):
            return key
        case Answered(waiting=waiting):
            return waiting
        case _:
            return ""


def outcome_key(fact: Fact) -> str:
    """What makes an outcome the only one among those of all kinds. Empty for Facts that are no outcome."""
    known = outcome_of(fact)
    return known and f"{fact.kind}/{known}"


def encode(recorded: Recorded) -> bytes:
    """One line of JSON, without the newline."""
    return _adapter().dump_json(recorded)


def decode(line: bytes) -> Recorded:
    """The event of one line; what is not one raises `pydantic.ValidationError`. Only our own closed set of types is built."""
    return _adapter().validate_json(line)


def encode_fact(fact: Fact) -> bytes:
    """A Fact without its envelope, for a journal that keeps the parts of that apart.

    Half a surrogate pair, which JSON can't hold and a model may well say, becomes a question mark. Raises
    `pydantic_core.PydanticSerializationError` for what is no Fact, and so could never be read again.
    """
    # Half the time that a serializer takes which must first find out what kind it has.
    kind: Any = type(fact)
    serializer = _serializer(kind)
    try:
        return serializer.to_json(fact, warnings="error")
    except PydanticSerializationError:
        return json.dumps(serializer.to_python(fact, mode="json", warnings="error"), ensure_ascii=False).encode(errors="replace")


def decode_fact(line: bytes) -> Fact:
    """What `encode_fact` made. Raises `pydantic.ValidationError` for all else, a Glimpse too."""
    return _facts().validate_json(line)


@cache
def _adapter() -> TypeAdapter[Recorded]:
    return TypeAdapter(Recorded)


@cache
def _serializer(kind: type[object]) -> SchemaSerializer:
    serializer = TypeAdapter(kind).serializer
    assert isinstance(serializer, SchemaSerializer)
    return serializer


@cache
def _facts() -> TypeAdapter[Fact]:
    return TypeAdapter(Annotated[Fact, Discriminator("kind")])
