"""Money: what every attempt at a reply cost, as far as anybody knows."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime

from msgspec.structs import replace

from registry.calls import Call
from registry.errors import ModelError
from registry.governor.retry import cost_of
from registry.messages import Piece, Reply, Request
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.models.prices import Tariff
from registry.usage import Usage

TariffOf = Callable[[str, datetime], Tariff | None]
"""What is charged at a moment for the work of the model with this name; empty where nobody said which one did it."""


class PricedModel(ModelLayer):
    """A model whose replies and errors say what they cost in dollars. It stands right around the wire, so that each attempt
    at each model of a fallback is charged once and at its own price. `now` is the wall clock: some prices depend on the hour.
    """

    def __init__(self, inner: Model, tariff_of: TariffOf, *, now: Callable[[], datetime]) -> None:
        super().__init__(inner)
        self._tariff_of, self._now = tariff_of, now

    async def chat(self, request: Request, call: Call) -> Reply:
        asked = self._now()
        try:
            return self._charged(await self._inner.chat(request, call), asked)
        except ModelError as error:
            self._charge(error, asked)
            raise

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        asked = self._now()
        try:
            async with aclosing(self._inner.stream_chat(request, call)) as pieces:
                async for piece in pieces:
                    yield self._charged(piece, asked) if isinstance(piece, Reply) else piece
        except ModelError as error:
            self._charge(error, asked)
            raise

    def _charged(self, reply: Reply, asked: datetime) -> Reply:
        usage = charged(reply.usage, self._tariff_of(reply.model, asked))
        return reply if usage is reply.usage else replace(reply, usage=usage)

    def _charge(self, error: ModelError, asked: datetime) -> None:
        error.usage = charged(cost_of(error), self._tariff_of("", asked))


def charged(usage: Usage, tariff: Tariff | None) -> Usage:
    """The usage with its cost.

    What nobody metered costs at least what is known of it, and tokens without a tariff cost nobody knows what. A report that
    contradicts itself is not charged. Metered requests without a token were refused, and cost nothing.
    """
    metered = usage.requests - usage.unmetered
    if tariff is not None and tariff.free:
        return replace(usage, priced=usage.requests)
    if not usage.tokens:
        return replace(usage, priced=metered) if metered else usage
    if tariff is None or not _plausible(usage):
        return usage
    return replace(usage, cost=tariff.charge(usage), priced=metered)


def _plausible(usage: Usage) -> bool:
    """Whether no part is larger than the whole."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return cached <= usage.input_tokens and usage.reasoning_tokens <= usage.output_tokens
