"""The one envelope of events, and its one codec."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated

from pydantic import Discriminator, TypeAdapter

from orchestrator.events.facts import Fact
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


def encode(recorded: Recorded) -> bytes:
    """One line of JSON, without the newline."""
    return _adapter().dump_json(recorded)


def decode(line: bytes) -> Recorded:
    """The event of one line; what is not one raises `pydantic.ValidationError`. Only our own closed set of types is built."""
    return _adapter().validate_json(line)


@cache
def _adapter() -> TypeAdapter[Recorded]:
    return TypeAdapter(Recorded)
