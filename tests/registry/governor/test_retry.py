"""What is retried, when, and what it costs."""

from contextlib import aclosing

import anyio
import pytest

from registry.calls import NO_CALL, Call
from registry.errors import (
    CircuitOpen,
    Garbled,
    ModelError,
    NoTypedAnswer,
    Overloaded,
    Refused,
    Truncated,
    Unauthorized,
    Unreachable,
    WindowExceeded,
)
from registry.governor.retry import LONGEST_OUTAGE, MOST_ATTEMPTS, RetryingModel, next_delay
from registry.messages import Reply, Request, Reset, TextPiece, UserMessage
from registry.testing import SCRIPTED_USAGE, CutAfter, FaultyModel, ScriptedModel
from registry.usage import UNMETERED, Usage

pytestmark = pytest.mark.anyio

HELLO = Request(messages=(UserMessage(text="hello"),))
BUSY = Overloaded("here", "busy")
GONE = Unreachable("here", "no route")
TOKENS = Usage(requests=1, output_tokens=3)


def retrying(script) -> RetryingModel:
    return RetryingModel(ScriptedModel(script), jitter=lambda: 0.0)


@pytest.mark.parametrize(
    ("error", "attempt", "jitter", "delay"),
    [
        pytest.param(BUSY, 1, 0.0, 0.5, id="first"),
        pytest.param(GONE, 2, 0.0, 1.0, id="second"),
        pytest.param(Truncated("here", "cut"), 3, 0.0, 2.0, id="third"),
        pytest.param(BUSY, 4, 0.0, None, id="no-fifth-attempt"),
        pytest.param(BUSY, 1, 1.0, 0.25, id="jitter-halves"),
        pytest.param(Overloaded("here", "busy", retry_after=20), 1, 0.0, 20.0, id="retry-after"),
        pytest.param(Overloaded("here", "busy", retry_after=20), 1, 1.0, 22.0, id="retry-after-is-never-cut-short"),
        pytest.param(Overloaded("here", "busy", retry_after=0), 1, 0.0, 0.0, id="retry-at-once"),
        pytest.param(Overloaded("here", "busy", retry_after=60), 1, 0.0, 60.0, id="longest-patience"),
        pytest.param(Overloaded("here", "busy", retry_after=61), 1, 0.0, None, id="too-long"),
        pytest.param(Refused("here", "bad"), 1, 0.0, None, id="refused"),
        pytest.param(Unauthorized("here", "bad key"), 1, 0.0, None, id="unauthorized"),
        pytest.param(WindowExceeded("here", "long"), 1, 0.0, None, id="window"),
        pytest.param(Garbled("here", "html"), 1, 0.0, None, id="garbled"),
        pytest.param(NoTypedAnswer("x", (), usage=Usage()), 1, 0.0, None, id="untyped"),
    ],
)
def test_the_next_delay(error, attempt, jitter, delay):
    """Only what passes by itself is waited for: twice as long each time, or as long as the endpoint says."""
    assert delay == next_delay(error, attempt, jitter)


async def test_a_passing_failure_is_outlived_and_paid_for():
    """The reply comes after the waits, and its usage has every attempt that reached the endpoint."""
    began = anyio.current_time()

    reply = await retrying([BUSY, GONE, "at last"]).chat(HELLO, NO_CALL)

    assert "at last" == reply.text
    assert 1.5 == pytest.approx(anyio.current_time() - began, abs=0.2)
    assert SCRIPTED_USAGE + UNMETERED == reply.usage


async def test_a_cut_reply_costs_what_it_says():
    """An error that knows its tokens is charged with them, not as unmetered."""
    reply = await retrying([Truncated("here", "cut", usage=TOKENS), "at last"]).chat(HELLO, NO_CALL)

    assert SCRIPTED_USAGE + TOKENS == reply.usage


async def test_four_attempts_are_the_most():
    """The fourth failure is raised, with the usage of all four."""
    model = ScriptedModel([Overloaded("here", "busy") for _ in range(4)])

    with pytest.raises(Overloaded) as raised:
        await RetryingModel(model, jitter=lambda: 0.0).chat(HELLO, NO_CALL)

    model.assert_used_up()
    assert Usage(requests=4, unmetered=4) == raised.value.usage


@pytest.mark.parametrize("error", [Refused("here", "bad"), Unauthorized("here", "bad key")])
async def test_what_will_not_pass_is_raised_at_once(error: ModelError):
    """A refused request is asked once, and costs a request without tokens."""
    with pytest.raises(type(error)) as raised:
        await retrying([error, "never"]).chat(HELLO, NO_CALL)

    assert Usage(requests=1) == raised.value.usage


async def test_no_wait_goes_past_the_deadline():
    """When the next attempt would come too late the error is raised now, not then."""
    began = anyio.current_time()

    with pytest.raises(Overloaded):
        await retrying([Overloaded("here", "busy", retry_after=10), "never"]).chat(HELLO, Call(deadline=began + 5))

    assert 0 == pytest.approx(anyio.current_time() - began, abs=0.2)


async def test_a_stream_that_fails_before_its_first_piece_begins_anew_unseen():
    """Nothing was shown, so nothing is reset."""
    pieces = [piece async for piece in retrying([BUSY, "a b"]).stream_chat(HELLO, NO_CALL)]

    assert [TextPiece("a "), TextPiece("b")] == pieces[:-1]
    assert SCRIPTED_USAGE + UNMETERED == pieces[-1].usage


class Breaking(ScriptedModel):
    """Loses its connection in the middle of the first stream."""

    async def stream_chat(self, request, call):
        first = not self.requests
        async with aclosing(super().stream_chat(request, call)) as pieces:
            async for piece in pieces:
                yield piece
                if first:
                    raise Unreachable("here", "connection lost")


async def test_a_retry_after_pieces_were_shown_resets_them():
    """The reader is told that what it saw is void before it sees anything again."""
    model = RetryingModel(Breaking(["a b", "c d"]), jitter=lambda: 0.0)

    pieces = [piece async for piece in model.stream_chat(HELLO, NO_CALL)]

    assert [TextPiece, Reset, TextPiece, TextPiece, Reply] == [type(piece) for piece in pieces]
    assert "c d" == pieces[-1].text


async def test_a_stream_that_was_cut_is_not_asked_for_again():
    """A truncated stream is its reader's to judge: it is raised after what was shown."""
    model = RetryingModel(FaultyModel(ScriptedModel(["a b", "c d"]), [CutAfter(1)]), jitter=lambda: 0.0)
    stream = model.stream_chat(HELLO, NO_CALL)

    assert TextPiece("a ") == await anext(stream)
    with pytest.raises(Truncated):
        await anext(stream)


async def test_finding_an_open_circuit_is_no_attempt():
    """Nothing was sent, so all attempts are left when the endpoint is back."""
    began = anyio.current_time()
    shut = [CircuitOpen("here", 1.0) for _ in range(MOST_ATTEMPTS + 3)]

    reply = await retrying([*shut, BUSY, "at last"]).chat(HELLO, NO_CALL)

    assert "at last" == reply.text
    assert len(shut) + 0.5 == pytest.approx(anyio.current_time() - began, abs=0.2)
    assert SCRIPTED_USAGE + UNMETERED == reply.usage


async def test_what_the_probe_cost_is_kept():
    """The one that asked for all was sent, and is paid for."""
    reply = await retrying([CircuitOpen("here", 1.0, usage=UNMETERED), "at last"]).chat(HELLO, NO_CALL)

    assert SCRIPTED_USAGE + UNMETERED == reply.usage


@pytest.mark.parametrize(("patience", "asked"), [(0.0, 1), (2.5, 3), (LONGEST_OUTAGE, 31)])
async def test_patience_with_an_outage_ends(patience, asked):
    """At once where another model stands behind it."""
    model = ScriptedModel(lambda _: CircuitOpen("here", 1.0))
    with pytest.raises(CircuitOpen):
        await RetryingModel(model, jitter=lambda: 0.0, patience=patience).chat(HELLO, NO_CALL)

    assert asked == len(model.requests)
