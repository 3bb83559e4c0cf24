"""Neutral values that pass between us and any model: what is said, asked and answered.

No provider's wire form shows here. All are frozen, so a transcript is a record: it is added to, never edited.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from msgspec import Struct

from registry.origins import TRUSTED, Origins
from registry.usage import UNMETERED, Usage

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of such."""

Schema = Mapping[str, Json]
"""A JSON Schema."""


class ToolCall(Struct, frozen=True, kw_only=True):
    """A model's wish to run a tool. `arguments` is the JSON text exactly as the model wrote it.

    `extra` is the JSON text of an object: what the endpoint said of the call beyond the protocol, such as a signature, and wants
    back unchanged. Empty for nothing. It is never made up, and nobody else reads it.
    """

    id: str
    name: str
    arguments: str
    extra: str = ""


class SystemMessage(Struct, frozen=True, kw_only=True, tag_field="role", tag="system"):
    text: str
    origins: Origins = TRUSTED
    role: ClassVar[Literal["system"]] = "system"


class UserMessage(Struct, frozen=True, kw_only=True, tag_field="role", tag="user"):
    """`pinned` messages survive every trimming. `call_id` is the call whose observation it is, for models without tool calls."""

    text: str
    pinned: bool = False
    call_id: str = ""
    origins: Origins = TRUSTED
    role: ClassVar[Literal["user"]] = "user"


class AssistantMessage(Struct, frozen=True, kw_only=True, tag_field="role", tag="assistant"):
    """`reasoning` is the model's private thinking, kept apart from what it says. `opaque` is as in `Reply`."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    opaque: str = ""
    origins: Origins = TRUSTED
    role: ClassVar[Literal["assistant"]] = "assistant"


class ToolMessage(Struct, frozen=True, kw_only=True, tag_field="role", tag="tool"):
    """The observation of the call `call_id`, directly after the message that asked for it."""

    call_id: str
    name: str
    text: str
    origins: Origins = TRUSTED
    role: ClassVar[Literal["tool"]] = "tool"


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class ToolSpec(Struct, frozen=True, kw_only=True, eq=False):
    """How a tool is shown to a model. Made once per tool and compared by identity, so wire forms can be cached."""

    name: str
    description: str
    parameters: Schema


class ResponseFormat(Struct, frozen=True, kw_only=True, eq=False):
    """Ask for JSON only: of this schema where the endpoint can enforce one, any object when `schema` is None."""

    name: str = "reply"
    schema: Schema | None = None


class Request(Struct, frozen=True, kw_only=True):
    """One question to a model.

    `tool_choice` is "auto", "none", "required", or the name of the one tool that must be called.
    `max_tokens` caps the reply in tokens; None leaves it to the endpoint.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    response_format: ResponseFormat | None = None
    max_tokens: int | None = None
    temperature: float | None = None


Finish = Literal["stop", "tool_calls", "length", "refused"]


class Reply(Struct, frozen=True, kw_only=True):
    """One model's answer, complete. `finish` is "length" when the model was cut off by a token cap.

    `model` is who answered, as the endpoint says. `waited` is the seconds that the request queued before it was sent. `opaque` is
    what only the endpoint understands and wants back unchanged with the message, such as signed thoughts: JSON text, marked with
    whose it is, empty for nothing.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    opaque: str = ""
    finish: Finish = "stop"
    usage: Usage = UNMETERED
    model: str = ""
    waited: float = 0.0


class TextPiece(Struct, frozen=True):
    """Some more of the reply's text."""

    text: str


class ReasoningPiece(Struct, frozen=True, tag_field="kind", tag="reasoning"):
    """Some more of the model's thinking."""

    text: str


class Reset(Struct, frozen=True, tag_field="kind", tag="reset"):
    """What was streamed so far is void: the reply begins anew."""

    why: str


Piece = TextPiece | ReasoningPiece | Reset | Reply
"""What a stream yields. The last one is the whole Reply; a stream that ends without it was cut."""
