"""Models behind the Messages API of Anthropic, or a server that speaks it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial

from pydantic import SecretStr

from registry.calls import Call
from registry.exchange import Exchange, revealed
from registry.http import TIMEOUTS, HttpDoor, Timeouts, address
from registry.messages import Piece, Reply, Request
from registry.models.model import Abilities
from registry.wire.anthropic.assembler import Assembler
from registry.wire.anthropic.faults import fault
from registry.wire.anthropic.lift import lift
from registry.wire.anthropic.lower import LONGEST_NAME, lower
from registry.wire.legal import legal
from registry.wire.naming import naming

BASE_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
"""The version of the protocol, which is a header of each request."""

MAX_OUTPUT = 4096
"""Tokens of a reply for which nobody names a cap: the API must be told one."""

ABILITIES: Abilities = {"tool_call": True}
"""The API has no JSON mode."""


class AnthropicModel:
    """A `Model` at `base_url`, known there as `model`. It never repeats a request: that is the caller's.

    `max_output` caps the replies for which a request names no cap, in tokens. With `thinking`, the model may think so many
    tokens more (1024 at least), where the API allows it: not when a call is forced, nor amid calls that began without a thought.
    Its thoughts are the reply's `reasoning`; they go back to this endpoint as they came, from the reply's `opaque`.
    """

    punctual = True
    """Every wait of its own ends with the call's deadline: see `ModelLayer`."""

    def __init__(
        self,
        name: str,
        *,
        model: str,
        base_url: str = BASE_URL,
        api_key: SecretStr | None,
        door: HttpDoor,
        abilities: Abilities | None = None,
        context_window: int | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = TIMEOUTS,
        max_output: int = MAX_OUTPUT,
        thinking: int | None = None,
    ) -> None:
        base = base_url.strip().rstrip("/").removesuffix("/messages").removesuffix("/v1").rstrip("/")
        secret = revealed(api_key)
        self._name, self._context_window = name, context_window
        self._abilities = ABILITIES if abilities is None else abilities
        self._endpoint = address(base)
        self._lower = partial(lower, model=model, endpoint=self._endpoint, max_output=max_output, thinking=thinking)
        self._exchange = Exchange(
            door=door,
            url=f"{base}/v1/messages",
            endpoint=self._endpoint,
            headers={
                "content-type": "application/json",
                "anthropic-version": VERSION,
                **({"x-api-key": secret} if secret else {}),
                **(headers or {}),
            },
            secret=secret,
            fault=partial(fault, self._endpoint, model=model),
            timeouts=timeouts,
        )

    @property
    def name(self) -> str:
        return self._name

    @property
    def endpoint(self) -> str:
        return self._endpoint

    @property
    def abilities(self) -> Abilities:
        return self._abilities

    @property
    def context_window(self) -> int | None:
        return self._context_window

    async def chat(self, request: Request, call: Call) -> Reply:
        """One reply, whole. Raises a `ModelError`, and IllegalRequest for a transcript that must not be sent."""
        made = legal(request.messages)
        names = naming(request.tools, made, LONGEST_NAME)
        read = partial(lift, endpoint=self._endpoint, taken=[each.id for each in made])
        return names.lifted(await self._exchange.whole(self._lower(names.lowered(request)), call, lift=read))

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """The reply piece by piece, the whole of it last. Raises as `chat` does, and Truncated when a reply breaks off."""
        made = legal(request.messages)
        names, taken = naming(request.tools, made, LONGEST_NAME), [each.id for each in made]
        pieces = self._exchange.pieces(
            self._lower(names.lowered(request), stream=True),
            call,
            assembler=Assembler(self._endpoint, taken),
            lift=partial(lift, endpoint=self._endpoint, taken=taken),
        )
        async with aclosing(pieces):
            async for piece in pieces:
                yield names.lifted(piece)
