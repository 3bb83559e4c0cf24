"""Replies and errors that say what they cost."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from msgspec.structs import replace

from registry.calls import NO_CALL
from registry.errors import Garbled, ModelError, Overloaded, Refused, Truncated, Unreachable
from registry.governor.fallback import FallbackModel
from registry.governor.retry import RetryingModel
from registry.messages import Piece, Reply, Request, TextPiece, UserMessage
from registry.models.model import Model
from registry.models.priced import PricedModel, charged
from registry.models.prices import FREE, Price, Tariff
from registry.testing import Line, ScriptedModel
from registry.usage import UNMETERED, Usage

pytestmark = pytest.mark.anyio

HELLO = Request(messages=(UserMessage(text="hello"),))
NOW = datetime(2026, 12, 1, tzinfo=UTC)
METERED = Usage(requests=1, input_tokens=1000, output_tokens=100)
DOLLAR = Price(input=Decimal(1), output=Decimal(10)).tariff()
"""0.002 dollars for METERED."""


def cost(dollars: str, **counts: int) -> Usage:
    return Usage(cost=Decimal(dollars), **counts)


@pytest.mark.parametrize(
    ("usage", "tariff", "expected"),
    [
        pytest.param(METERED, DOLLAR, ("0.002", 1), id="known"),
        pytest.param(METERED, None, ("0", 0), id="no tariff"),
        pytest.param(METERED, FREE, ("0", 1), id="free"),
        pytest.param(UNMETERED, DOLLAR, ("0", 0), id="unmetered"),
        pytest.param(UNMETERED, FREE, ("0", 1), id="unmetered and free"),
        pytest.param(Usage(requests=1, input_tokens=1000, unmetered=1), DOLLAR, ("0.001", 0), id="half metered"),
        pytest.param(Usage(requests=2) + METERED, DOLLAR, ("0.002", 3), id="after refusals"),
        pytest.param(Usage(requests=2), None, ("0", 2), id="refused"),
        pytest.param(Usage(requests=1) + UNMETERED, None, ("0", 1), id="refused, then unmetered"),
        pytest.param(Usage(), DOLLAR, ("0", 0), id="nothing was sent"),
        pytest.param(Usage(requests=1, input_tokens=10, cache_read_tokens=20), DOLLAR, ("0", 0), id="more cached than there was"),
        pytest.param(
            Usage(requests=1, input_tokens=9, output_tokens=1, reasoning_tokens=2), DOLLAR, ("0", 0), id="more thought than said"
        ),
    ],
)
def test_what_a_request_costs(usage: Usage, tariff: Tariff | None, expected: tuple[str, int]) -> None:
    """Unknown is never zero: what can't be told stays unpriced, and what is known of it is a lower bound."""
    seen = charged(usage, tariff)

    assert (Decimal(expected[0]), expected[1]) == (seen.cost, seen.priced)
    assert usage == replace(seen, cost=Decimal(0), priced=0)


def priced(*script: Line, tariff: Tariff | None = DOLLAR, name: str = "m") -> PricedModel:
    return PricedModel(ScriptedModel(script, name=name), lambda answered, at: tariff, now=lambda: NOW)


async def chatted(model: Model) -> Reply:
    return await model.chat(HELLO, NO_CALL)


async def streamed(model: Model) -> Reply:
    pieces: list[Piece] = []
    async with aclosing(model.stream_chat(HELLO, NO_CALL)) as stream:
        async for piece in stream:
            pieces.append(piece)
    assert isinstance(pieces[0], TextPiece)
    assert isinstance(pieces[-1], Reply)
    return pieces[-1]


either_way = pytest.mark.parametrize("asked", [chatted, streamed])
Asked = Callable[[Model], Awaitable[Reply]]


@either_way
async def test_a_reply_is_charged(asked: Asked) -> None:
    """Its usage has the cost; the rest of it is as it was."""
    reply = await asked(priced(Reply(text="hi", usage=METERED)))

    assert Reply(text="hi", usage=METERED + cost("0.002", priced=1)) == reply


@either_way
async def test_who_answered_and_when_decide(asked: Asked) -> None:
    """The tariff is asked for by the name that the reply gives, at the moment of the request."""
    wanted: list[tuple[str, datetime]] = []

    def tariff_of(answered: str, at: datetime) -> Tariff:
        wanted.append((answered, at))
        return FREE

    model = PricedModel(ScriptedModel([Reply(text="hi", model="m-2")]), tariff_of, now=lambda: NOW)
    await asked(model)

    assert [("m-2", NOW)] == wanted


@either_way
@pytest.mark.parametrize(
    ("error", "usage"),
    [
        pytest.param(Truncated("x", "cut", usage=METERED), METERED + cost("0.002", priced=1), id="with tokens"),
        pytest.param(Garbled("x", "html"), UNMETERED, id="nobody knows"),
        pytest.param(Refused("x", "no"), Usage(requests=1, priced=1), id="refused"),
        pytest.param(Unreachable("x", "gone"), Usage(), id="never sent"),
    ],
)
async def test_a_failed_attempt_is_charged(asked: Asked, error: ModelError, usage: Usage) -> None:
    """As far as it reported tokens. What was refused cost nothing, and what was never sent is no request."""
    with pytest.raises(type(error)) as caught:
        await asked(priced(error))

    assert usage == caught.value.usage


@either_way
async def test_every_attempt_of_every_model_is_charged_once(asked: Asked) -> None:
    """Each at the price of its own model, and all of them in the reply."""
    cut, busy = Truncated("x", "cut", usage=METERED), Overloaded("x", "busy", retry_after=100)
    dear = Price(input=Decimal(100), output=Decimal(0)).tariff()
    first = priced(busy, name="a") if asked is streamed else priced(cut, busy, name="a")
    second = priced(Reply(text="hi", usage=METERED), tariff=dear, name="b")
    model = FallbackModel([RetryingModel(each, jitter=lambda: 0.0) for each in (first, second)])

    usage = (await asked(model)).usage

    paid = cost("0.1", priced=1) if asked is streamed else cost("0.102", priced=2)
    metered = METERED if asked is streamed else METERED + METERED
    assert metered + UNMETERED + paid == usage
