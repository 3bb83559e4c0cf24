"""The gate decides who may go now, and names the moment at which the first of the others may."""

import math

import pytest

from registry.allowances import Allowance, Allowances
from registry.errors import (
    CircuitOpen,
    Garbled,
    OverBudget,
    Overloaded,
    Refused,
    Truncated,
    Unauthorized,
    Unpriced,
    Unreachable,
)
from registry.governor.breaker import FAILURES
from registry.governor.bucket import Bucket
from registry.governor.gate import SILENT, UNSTATED, Admission, Gate, Place, outcome_of
from registry.governor.retry import LONGEST_PATIENCE
from registry.messages import Reply

GONE = Unreachable("here", "no route")
FINE = Reply(text="fine")


def gate(slots: int = 10, *, most: float = math.inf) -> Gate:
    return Gate("here", slots, Bucket(most=most), Bucket())


def admitted(place: Place) -> Admission:
    assert place.admission is not None
    return place.admission


def busy(status: int | None, retry_after: float | None) -> Overloaded:
    return Overloaded("here", "busy", status=status, retry_after=retry_after)


@pytest.mark.parametrize(
    ("error", "moment"),
    [
        pytest.param(busy(429, 7.0), 7.0, id="too many, for so long"),
        pytest.param(busy(429, None), UNSTATED, id="too many"),
        pytest.param(busy(503, 7.0), 7.0, id="down, for so long"),
        pytest.param(busy(503, None), 0.0, id="down"),
        pytest.param(busy(None, None), 0.0, id="nobody knows"),
        pytest.param(GONE, 0.0, id="gone"),
        pytest.param(Refused("here", "bad"), 0.0, id="refused"),
    ],
)
def test_when_others_may_go_after_an_error(error, moment):
    """A stated wait holds for everybody, and so does a refusal of too many. Other errors are their caller's alone."""
    one = gate()
    one.settle(admitted(one.enter(0, 0, 0.0)), error, 0.0, late=False)
    place = one.enter(0, 0, 0.0)

    assert moment == (place.due if place.waits else 0.0)


def test_a_freeze_is_never_shortened():
    """The longest wait that anybody was told holds."""
    one = gate()
    first, second = (admitted(one.enter(0, 0, 0.0)) for _ in range(2))
    one.settle(first, busy(429, 9.0), 0.0, late=False)
    one.settle(second, busy(429, 2.0), 0.0, late=False)

    assert 9.0 == one.enter(0, 0, 0.0).due


def test_a_freeze_that_nobody_stated_grows_while_nothing_passes():
    """And begins anew after a reply. It is one refusal that goes on: the rate is cut once."""
    one, now, pauses = gate(), 0.0, []
    one.settle(admitted(one.enter(0, 0, now)), FINE, now, late=False)
    for ended in [busy(429, None)] * 4 + [FINE, busy(429, None)]:
        sent = one.enter(0, 0, now)
        if sent.waits:
            now = sent.due
            one.serve(now)
        one.settle(admitted(sent), ended, now, late=False)
        waiting = one.enter(0, 0, now)
        pauses.append(round(waiting.due - now, 2) if waiting.waits else 0.0)
        one.leave(waiting, now)

    assert [1, 1, 2, 4] == [round(pause) for pause in pauses[:4]]
    assert UNSTATED == pauses[-1]
    assert 1.0 == pytest.approx(one.requests.found, rel=0.01)


def test_only_the_first_watches_the_clock():
    """And it is the next one's turn as soon as the first has gone."""
    one = gate(most=1.0)
    admitted(one.enter(0, 0, 0.0))
    first, second = one.enter(2, 0, 0.0), one.enter(1, 0, 0.0)
    assert (True, math.inf) == (first.due < 2, second.due)

    one.serve(first.due)

    assert (False, True) == (first.waits, second.waits)
    assert second.due < 3


def test_a_more_urgent_one_takes_over_the_clock():
    """Who comes later and ranks higher goes first."""
    one = gate(most=1.0)
    admitted(one.enter(0, 0, 0.0))
    low, high = one.enter(1, 0, 0.0), one.enter(2, 0, 0.0)
    one.serve(high.due)

    assert (True, False) == (low.waits, high.waits)


def test_who_leaves_gives_back_what_it_was_granted():
    """Slot and turn both: the next one need not wait for another."""
    one = gate(1, most=1.0)
    place = one.enter(0, 0, 0.0)
    one.leave(place, 0.0)

    assert not one.enter(0, 0, 0.0).waits


def outages(one: Gate, now: float = 0.0) -> None:
    sent = [admitted(one.enter(0, 0, now)) for _ in range(FAILURES)]
    assert [None] * FAILURES == [one.settle(each, GONE, now, late=False) for each in sent]


def test_an_open_circuit_ends_all_waits():
    """Those in the queue hear it too, and nobody new may wait."""
    one = gate(FAILURES)
    sent = [admitted(one.enter(0, 0, 0.0)) for _ in range(FAILURES)]
    waiting = [one.enter(0, 0, 0.0) for _ in range(2 * FAILURES)]
    for each in sent:
        one.settle(each, GONE, 0.0, late=False)

    assert FAILURES + 1 == sum(isinstance(place.refusal, CircuitOpen) for place in waiting)
    assert [] == one.queue
    with pytest.raises(CircuitOpen):
        one.enter(0, 0, 0.0)


def test_the_head_of_an_answer_is_enough_for_a_probe():
    """A reply may take minutes, and nobody need wait for its end to know that the endpoint is back."""
    one = gate()
    outages(one)
    probe, waiting = admitted(one.enter(0, 0, 1.0)), one.enter(0, 0, 1.0)
    assert one.listens(probe)
    one.hear(probe, None, 1.1)
    one.serve(3.0)

    assert ("closed", False) == (one.breaker.state, waiting.waits)
    assert one.settle(probe, GONE, 60.0, late=False) is None
    assert "closed" == one.breaker.state


def test_after_an_outage_they_come_as_fast_as_before():
    """Where no rate is known, the one of before the outage is gone by at first."""
    one = gate(100)
    for place in range(10):
        one.settle(admitted(one.enter(0, 0, place / 10)), FINE, place / 10, late=False)
    outages(one, 1.0)
    probe = admitted(one.enter(0, 0, 1.6))
    assert probe.probe
    rest = [one.enter(0, 0, 1.6) for _ in range(30)]
    one.settle(probe, FINE, 1.7, late=False)
    moment, gone = 1.7, []
    while moment < 2.7:
        one.serve(moment)
        gone.append(sum(not place.waits for place in rest))
        moment += 0.01

    assert 10 <= gone[-1] <= 12


def test_an_endpoint_that_never_speaks_is_not_listened_to():
    """Until it refuses a request: then it may say why."""
    one = gate(10)
    for _ in range(SILENT):
        heard = admitted(one.enter(0, 0, 0.0))
        assert one.listens(heard)
        one.settle(heard, FINE, 0.0, late=False)
    sent = admitted(one.enter(0, 0, 0.0))
    assert not one.listens(sent)
    one.settle(sent, busy(429, None), 0.0, late=False)

    assert one.listens(sent)


def test_an_endpoint_that_speaks_is_listened_to():
    """Each word is a sign that there will be others."""
    one = gate(10)
    sent = [admitted(one.enter(0, 0, 0.0)) for _ in range(10)]
    for _ in range(SILENT):
        one.settle(sent.pop(0), FINE, 0.0, late=False)
        sent.append(admitted(one.enter(0, 0, 0.0)))
    one.hear(sent[0], Allowances(tokens=Allowance(limit=100_000, remaining=90_000, reset=6.0)), 0.0)

    assert one.listens(sent[0])
    assert 90_000 == one.tokens.level


def test_a_wait_beyond_all_patience_is_refused_at_once():
    """An endpoint that wants to be left alone for an hour is left alone, and a fallback may step in."""
    one = gate(1)
    sent, waiting = admitted(one.enter(0, 0, 0.0)), one.enter(0, 0, 0.0)
    one.settle(sent, busy(429, LONGEST_PATIENCE + 1), 0.0, late=False)

    assert isinstance(waiting.refusal, Overloaded)
    with pytest.raises(Overloaded, match="asked everybody to wait"):
        one.enter(0, 0, 0.5)
    assert one.enter(0, 0, 2.0).waits


@pytest.mark.parametrize(
    ("ended", "late", "outcome"),
    [
        pytest.param(FINE, False, "answered", id="a reply"),
        pytest.param(GONE, False, "outage", id="gone"),
        pytest.param(GONE, True, "unknown", id="gone, or the caller in a hurry"),
        pytest.param(busy(500, None), False, "outage", id="500"),
        pytest.param(busy(529, None), False, "outage", id="529"),
        pytest.param(busy(429, None), False, "answered", id="429"),
        pytest.param(busy(None, None), False, "answered", id="busy, nobody knows how"),
        pytest.param(Refused("here", "no"), False, "answered", id="refused"),
        pytest.param(Unauthorized("here", "no"), False, "answered", id="unauthorized"),
        pytest.param(Garbled("here", "html"), False, "answered", id="garbled"),
        pytest.param(Truncated("here", "cut"), False, "answered", id="truncated"),
        pytest.param(None, False, "unknown", id="cancelled"),
        pytest.param(OverBudget("the run", "tokens", left=1), False, "unknown", id="never sent"),
        pytest.param(Unpriced("m"), False, "unknown", id="never sent either"),
    ],
)
def test_what_the_end_of_a_request_says_of_its_endpoint(ended, late, outcome):
    """Only what the endpoint itself does wrong is an outage."""
    assert outcome == outcome_of(ended, late=late)
