"""The one way to reach a model."""

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from registry.calls import Call
from registry.messages import Piece, Reply, Request

Abilities = Mapping[str, bool]
"""What a model can do: `tool_call`, `json_mode` (any JSON object), `json_schema` (an enforced schema). Absent means no."""


class Model(Protocol):
    """A language model. Everything between us and it (journal, fallback, retry, governor, wire) wears this shape."""

    @property
    def name(self) -> str:
        """How users name it, `provider:model`."""
        ...

    @property
    def endpoint(self) -> str:
        """The address that it is asked at, as it may be shown; empty where there is none."""
        ...

    @property
    def abilities(self) -> Abilities: ...

    @property
    def context_window(self) -> int | None:
        """In tokens, request and reply together; None when unknown."""
        ...

    async def chat(self, request: Request, call: Call) -> Reply:
        """One reply, whole. Raises a `ModelError`."""
        ...

    def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """The same reply piece by piece; the last piece is the whole Reply. Raises a `ModelError`.

        An async generator: whoever may leave it early closes it (`contextlib.aclosing`).
        """
        ...
