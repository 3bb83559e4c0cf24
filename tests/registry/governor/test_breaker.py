"""The breaker opens after outages in a row, and lets one request find out for all."""

import pytest

from registry.governor.breaker import FAILURES, FIRST_REST, LONGEST_REST, Breaker


def opened(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    assert [False] * (FAILURES - 1) + [True] == [breaker.settle("outage", now, probe=False) for _ in range(FAILURES)]
    return breaker


def test_it_opens_after_outages_in_a_row():
    """Not before, and then for a while."""
    breaker = opened(10.0)

    assert "open" == breaker.state
    assert FIRST_REST == breaker.shut_for(10.0)
    assert 0.0 == breaker.shut_for(10.0 + FIRST_REST)


@pytest.mark.parametrize(("between", "state"), [("answered", "closed"), ("unknown", "open")])
def test_an_answer_between_them_counts_anew(between, state):
    """Any answer shows that somebody is there. Who was cancelled shows nothing."""
    breaker = Breaker()
    for _ in range(FAILURES - 1):
        breaker.settle("outage", 0.0, probe=False)
    breaker.settle(between, 0.0, probe=False)
    breaker.settle("outage", 0.0, probe=False)

    assert state == breaker.state


def test_a_closed_one_has_no_probe():
    """While all is well nobody waits for anybody."""
    breaker = Breaker()

    assert not breaker.pass_through()
    assert not breaker.probing


def test_one_probes_for_all():
    """After the rest the next one through is the probe, and its answer closes it."""
    breaker = opened()

    assert breaker.pass_through()
    assert breaker.probing
    assert breaker.settle("answered", 1.0, probe=True)
    assert ("closed", 0) == (breaker.state, breaker.failures)


def test_each_probe_that_fails_doubles_the_rest():
    """Up to a bound; an answer begins anew."""
    breaker, now, rests = opened(), 0.0, []
    for _ in range(8):
        rests.append(breaker.shut_for(now))
        now = breaker.until
        assert breaker.pass_through()
        assert breaker.settle("outage", now, probe=True)
    breaker.pass_through()
    breaker.settle("answered", now, probe=True)

    assert [0.5, 1.0, 2.0, 4.0, 8.0, LONGEST_REST, LONGEST_REST, LONGEST_REST] == rests
    assert 0.0 == breaker.rest


@pytest.mark.parametrize("outcome", ["answered", "outage", "unknown"])
def test_what_was_sent_before_it_opened_says_nothing(outcome):
    """Late news changes nothing: the probe will tell."""
    breaker = opened()
    assert not breaker.settle(outcome, 0.1, probe=False)
    assert FIRST_REST == breaker.shut_for(0.0)

    breaker.pass_through()
    breaker.settle(outcome, 1.0, probe=False)
    assert breaker.probing


def test_a_probe_that_was_cancelled():
    """The next one may probe at once."""
    breaker = opened()
    breaker.pass_through()
    assert not breaker.settle("unknown", 7.0, probe=True)

    assert 0.0 == breaker.shut_for(7.0)
    assert breaker.pass_through()
