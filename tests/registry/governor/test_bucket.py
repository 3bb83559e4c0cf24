"""A bucket fills evenly, by the least of what is set, told and found out."""

import math

import pytest

from registry.allowances import Allowance
from registry.governor.bucket import (
    AFTER_OUTAGE,
    AFTER_REFUSAL,
    IN_LUMPS,
    MARGIN,
    MEMORY,
    Bucket,
    Meter,
)


def drained(bucket: Bucket, now: float = 0.0) -> Bucket:
    bucket.take(bucket.level, now)
    return bucket


def test_nothing_known_is_no_limit():
    """As much as anybody wants may go at once."""
    bucket = Bucket()
    bucket.take(1e9, 0.0)

    assert 5.0 == bucket.due(1e9, 5.0)
    assert math.inf == bucket.rate(5.0)


def test_a_set_rate():
    """One may go at once, the next when its time has come, by a little less than the rate."""
    bucket = drained(Bucket(most=10.0))

    assert 1 / (10 * MARGIN) == pytest.approx(bucket.due(1, 0.0))
    assert 1.0 == bucket.due(1, 1.0)
    bucket.take(1, 1.0)
    assert bucket.due(1, 1.0) > 1.0


def test_a_late_sender_loses_nothing():
    """Who wakes a little late takes its turn late, and the next one comes in time."""
    bucket, now = drained(Bucket(most=10.0)), 0.0
    for _ in range(100):
        now = bucket.due(1, now) + 0.005
        bucket.take(1, now)

    assert 100 / (10 * MARGIN) == pytest.approx(now, abs=0.01)


def test_the_room_for_what_goes_at_once():
    """Long idleness saves up no more than the spread."""
    bucket = drained(Bucket(most=10.0, spread=IN_LUMPS))

    assert 1e6 == bucket.due(100, 1e6)
    bucket.take(100, 1e6)
    assert bucket.due(1, 1e6) > 1e6


def test_more_than_it_holds_goes_when_it_is_full():
    """A request larger than the bucket is not kept for ever; those after it wait the longer."""
    bucket = Bucket(most=10.0, spread=IN_LUMPS)

    assert 0.0 == bucket.due(1_000, 0.0)
    bucket.take(1_000, 0.0)
    assert 901 / (10 * MARGIN) == pytest.approx(bucket.due(1, 0.0))


def test_what_was_not_used_is_put_back():
    """An estimate that was too high is corrected, up to the brim."""
    bucket = Bucket(most=10.0, spread=IN_LUMPS)
    bucket.take(100, 0.0)
    bucket.put_back(60)
    bucket.put_back(-10)

    assert 50 == bucket.level
    bucket.put_back(1_000)
    assert bucket.capacity == bucket.level


def test_what_the_endpoint_says_counts_from_when_it_was_asked():
    """It had ten when the request came; since then two more have gone, and half a second's worth came back."""
    bucket = Bucket()
    bucket.hear(Allowance(limit=20, remaining=10, reset=0.5), sent=0.0, since=2, now=0.5)

    assert 20 * MARGIN == bucket.rate(0.5)
    assert 10 - 2 + 20 * MARGIN * 0.5 == pytest.approx(bucket.level)


def test_its_word_lowers_the_level_and_never_raises_it():
    """After an outage an endpoint has all its room again, and all who waited would come at once."""
    bucket = Bucket()
    bucket.hear(Allowance(limit=20, remaining=5, reset=0.75), sent=0.0, since=0, now=0.0)
    bucket.hear(Allowance(limit=20, remaining=19, reset=0.05), sent=0.0, since=0, now=0.0)
    assert 5 == bucket.level

    bucket.hear(Allowance(limit=20, remaining=1, reset=0.95), sent=0.0, since=0, now=0.0)
    assert 1 == bucket.level


def test_the_higher_of_two_told_rates_counts():
    """An endpoint that rounds its reset to whole seconds would look slower than it is."""
    bucket = Bucket()
    bucket.hear(Allowance(limit=20, remaining=0, reset=1.0), sent=0.0, since=0, now=0.0)
    bucket.hear(Allowance(limit=20, remaining=19, reset=1.0), sent=0.0, since=0, now=0.0)

    assert 20 * MARGIN == bucket.rate(0.0)


def test_a_set_rate_bounds_the_told_one():
    """The user may want less than the endpoint gives, and not more."""
    for most in (5.0, 50.0):
        bucket = Bucket(most=most)
        bucket.hear(Allowance(limit=20, remaining=0, reset=1.0), sent=0.0, since=0, now=0.0)
        assert min(most, 20) * MARGIN == bucket.rate(0.0)


def test_a_refusal_teaches_a_rate():
    """What went through is what goes through; a higher rate is tried again by and by."""
    bucket = Bucket()
    bucket.slow(20, 1.0, 100.0, doubling=AFTER_REFUSAL)

    assert [1.0, 1.01, 2.0] == pytest.approx(
        [bucket.rate(100 + passed) / (20 * MARGIN) for passed in (0, AFTER_REFUSAL / 10, AFTER_REFUSAL)]
    )


def test_an_outage_teaches_less():
    """Where nothing was known, the rate of before is doubled soon."""
    bucket = Bucket()
    bucket.slow(20, 1.0, 0.0, doubling=AFTER_OUTAGE)

    assert 40 * MARGIN == bucket.rate(AFTER_OUTAGE)


@pytest.mark.parametrize(("passed", "over", "rate"), [(0, 5.0, 0.2), (-3, 1.0, 1.0), (10, 0.1, 10.0)])
def test_what_is_measured_has_bounds(passed, over, rate):
    """Nothing at all would be no rate, and a moment no measure."""
    bucket = Bucket()
    bucket.slow(passed, over, 0.0, doubling=AFTER_REFUSAL)

    assert rate * MARGIN == pytest.approx(bucket.rate(0.0))


def test_a_refusal_never_speeds_up():
    """Whatever was measured, the rate that was refused is too high."""
    bucket = Bucket(most=10.0)
    bucket.slow(50, 1.0, 0.0, doubling=AFTER_REFUSAL)

    assert 10 * MARGIN == bucket.rate(0.0)


def test_a_refusal_after_a_calm_does_not_stop_everything():
    """When little was sent little is measured. What is given up at a time is a part of the rate."""
    bucket = Bucket(most=10.0)
    rates = []
    for moment in range(3):
        bucket.slow(1, 50.0, float(moment), doubling=AFTER_REFUSAL)
        rates.append(bucket.rate(moment) / MARGIN)

    assert [7.0, 4.9, 3.43] == pytest.approx(rates, rel=0.01)


def test_after_a_pause_one_may_go_at_once():
    """What was saved up before is void: who waited leaves at the rate. What was tried out is kept."""
    bucket = Bucket()
    bucket.slow(20, 1.0, 0.0, doubling=AFTER_REFUSAL)
    tried = bucket.rate(AFTER_REFUSAL)
    bucket.empty(AFTER_REFUSAL)

    assert tried == bucket.rate(AFTER_REFUSAL)
    assert AFTER_REFUSAL == bucket.due(1, AFTER_REFUSAL)
    bucket.take(1, AFTER_REFUSAL)
    assert AFTER_REFUSAL + 1 / tried == pytest.approx(bucket.due(1, AFTER_REFUSAL))


def test_an_empty_bucket_without_limits_is_none():
    """Where nothing is known there is nothing to void."""
    bucket = Bucket()
    bucket.empty(5.0)

    assert math.inf == bucket.level


def test_a_meter_counts_the_last_second():
    """Where there was no refusal, or long ago, what went in the last second counts; what was refused does not."""
    meter = Meter()
    for moment in (0.0, 1.0, 1.5, 1.9, 1.9):
        meter.sent(moment)
    meter.refused(1.9)

    assert (3, 1.0) == meter.read(2.0)


def test_a_meter_counts_since_the_last_refusal():
    """With all the time that was waited since."""
    meter = Meter()
    meter.read(0.0)
    for moment in (10.0, 10.1, 10.2):
        meter.sent(moment)
    meter.refused(10.2)
    meter.refused(-1.0)

    assert (2, 20.0) == meter.read(20.0)
    assert (2, 1.0) == meter.read(20.0 + MEMORY + 1)


@pytest.mark.parametrize(
    ("requests", "refused", "noisy"), [(3, 2, False), (3, 3, True), (100, 3, False), (99, 3, True), (1_000, 12, False)]
)
def test_a_few_refusals_are_chance(requests, refused, noisy):
    """Requests that keep to a rate may still meet on their way: two and one in a hundred."""
    meter = Meter()
    for moment in range(requests):
        meter.sent(float(moment))
    for moment in range(refused):
        meter.refused(float(moment))

    assert noisy == meter.noisy
