"""How an agent speaks to its model, and what it reads in a reply."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from registry.messages import AssistantMessage, Message, Reply, Request, ToolCall, ToolSpec
from registry.tools.tool import Observation


class Conclude(Struct, frozen=True, kw_only=True):
    """The model gives its final answer."""

    text: str
    reasoning: str = ""


class Act(Struct, frozen=True, kw_only=True):
    """The model asks for tools."""

    calls: tuple[ToolCall, ...]
    reasoning: str = ""


class Garbled(Struct, frozen=True, kw_only=True):
    """The reply is not in the dialect; `why` is for the model to read."""

    why: str


Reading = Conclude | Act | Garbled


class Dialect(Protocol):
    continues: bool
    """Whether a reply that was cut off can be gone on with: half an object can't."""

    def instructions(self, specs: Sequence[ToolSpec]) -> str:
        """What the system prompt must add, empty for nothing."""
        ...

    def request(self, messages: tuple[Message, ...], specs: tuple[ToolSpec, ...], *, may_act: bool = True) -> Request:
        """The next question. With `may_act` False the model can only answer."""
        ...

    def meant(self, reply: Reply, specs: Sequence[ToolSpec]) -> Reply:
        """The reply as it is to be read and kept: without what the model made up, and with a call where a call was meant."""
        ...

    def read(self, reply: Reply) -> Reading: ...

    def said(self, reply: Reply) -> AssistantMessage:
        """The reply as the transcript keeps it."""
        ...

    def observed(self, observations: Sequence[Observation]) -> tuple[Message, ...]:
        """What came back, in call order, as the model will read it."""
        ...
