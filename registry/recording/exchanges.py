"""What a recording holds, and its file: strict JSON of neutral requests and replies. No key is ever in it."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, Self

from msgspec import Struct, convert
from msgspec.structs import fields

from registry.digests import digest
from registry.errors import (
    CircuitOpen,
    Garbled,
    ModelError,
    Overloaded,
    Refused,
    Truncated,
    Unable,
    Unauthorized,
    Unreachable,
    WindowExceeded,
)
from registry.messages import Json, ReasoningPiece, Reply, Request, Reset
from registry.models.model import Abilities
from registry.usage import Usage

FORMAT = 1
"""The version of the file's form. Another one is refused."""

Way = Literal["chat", "stream_chat"]

_KINDS: Mapping[str, type[ModelError]] = {
    kind.__name__: kind
    for kind in (
        ModelError,
        Unreachable,
        CircuitOpen,
        Unable,
        Overloaded,
        Refused,
        Unauthorized,
        WindowExceeded,
        Truncated,
        Garbled,
    )
}
_FACTS = ("endpoint", "why", "retry_after", "status", "parameter", "codes", "needs", "lacking")


class RecordedError(Struct, frozen=True, kw_only=True):
    """A `ModelError` as it is kept. One of a kind that is not ours is kept as the nearest kind that is."""

    kind: str
    sentence: str
    facts: Mapping[str, Json]
    usage: Usage = Usage()

    @classmethod
    def of(cls, error: ModelError) -> Self:
        kind = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _KINDS)
        facts = {name: lean(value) for name, value in vars(error).items() if name in _FACTS}
        return cls(kind=kind, sentence=str(error), facts=facts, usage=error.usage)

    def revived(self) -> ModelError:
        """The error again, the same in all that was kept."""
        kind = _KINDS.get(self.kind, ModelError)
        error = kind.__new__(kind, self.sentence)
        facts = {name: tuple(value) if isinstance(value, list) else value for name, value in self.facts.items()}
        error.__dict__.update(facts, usage=self.usage)
        return error


class Exchange(Struct, frozen=True, kw_only=True):
    """A request and what came of it: a reply, an error, or neither for a stream that its reader left.

    `pieces` are what a stream showed before its end; a plain string is a piece of text.
    """

    way: Way
    request: Request
    pieces: tuple[str | ReasoningPiece | Reset, ...] = ()
    reply: Reply | None = None
    error: RecordedError | None = None


class Recording(Struct, frozen=True, kw_only=True):
    """A file's content: whose replies these are, and all exchanges in the order in which the calls were made."""

    format: int
    model: str
    abilities: Abilities
    context_window: int | None
    exchanges: tuple[Exchange, ...]


def encode(recording: Recording) -> bytes:
    """The recording as JSON text for people to read and compare. What has its default is left out."""
    # Half a character can't be UTF-8, but it can be JSON: this writes it as JSON's own escape.
    return (json.dumps(lean(recording), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(errors="backslashreplace")


def decode(content: bytes) -> Recording:
    """The recording of a file's content. Raises ValueError for what is none, or is one of another format."""
    data = json.loads(content)
    version = data.get("format") if isinstance(data, dict) else None
    if version != FORMAT:
        raise ValueError(f"its format is {version!r}, and this is for {FORMAT}")
    return convert(data, Recording)


def key_of(way: Way, request: Request) -> str:
    """The same for equal requests that are made in the same way."""
    return digest([way, lean(request)])


def lean(value: Any) -> Json:
    """The value as JSON, without the fields that have their defaults."""
    if isinstance(value, Struct):
        # Which of several kinds it is comes first: of a message, its role.
        kind = value.__struct_config__
        told = {} if kind.tag_field is None else {kind.tag_field: kind.tag}
        named = ((field, getattr(value, field.name)) for field in fields(value))
        return told | {field.name: lean(held) for field, held in named if held != field.default}
    if isinstance(value, Mapping):
        return {key: lean(held) for key, held in value.items()}
    if isinstance(value, Decimal):
        return str(value)  # a float would lose digits
    return [lean(held) for held in value] if isinstance(value, list | tuple) else value
