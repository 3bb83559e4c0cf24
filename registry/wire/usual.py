"""An answer as nearly every endpoint gives it, read in one go by its type. Whatever is said otherwise is not read here."""

from typing import Annotated, Literal

from msgspec import DecodeError, Meta, Struct, json

from registry.messages import Json
from registry.wire.metering import Told


class Function(Struct, frozen=True, forbid_unknown_fields=True):
    """What is called. Another field would be for its endpoint to understand."""

    name: str
    arguments: str


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """A call; likewise."""

    id: str
    function: Function
    type: Json = None
    index: Json = None


class Message(Struct, frozen=True):
    """What is said, thought, refused and called."""

    content: str | None = None
    tool_calls: list[Entry] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    function_call: None = None


class Choice(Struct, frozen=True):
    """The only one."""

    message: Message
    finish_reason: str | None = None
    index: Literal[0] | None = 0
    error: None = None


class Answer(Struct, frozen=True):
    """All of it."""

    choices: Annotated[list[Choice], Meta(min_length=1, max_length=1)]
    usage: Told | None = None
    model: str = ""
    error: None = None


_ANSWERS = json.Decoder(Answer)


def usual(body: bytes) -> Answer | None:
    """The answer, None where something in it wants to be read with more care."""
    try:
        return _ANSWERS.decode(body)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return None
