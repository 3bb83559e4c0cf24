"""How often each may ask."""

import pytest

from orchestrator.server.guard import rates
from orchestrator.server.guard.rates import Rates


def test_so_many_at_once_and_then_at_the_rate() -> None:
    """Each by itself; what was not used is saved up, to the burst and no further."""
    made = Rates(rate=2, burst=3)
    for _ in range(3):
        assert 0 == made.wait("a", 10)
        made.take("a", 10)

    assert made.wait("a", 10) == pytest.approx(0.5, rel=0.1)
    assert (0, 0) == (made.wait("b", 10), made.wait("a", 11))
    for _ in range(3):
        assert 0 == made.wait("a", 1000)
        made.take("a", 1000)
    assert made.wait("a", 1000) > 0


def test_the_longest_unused_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is for so many, however many ask."""
    monkeypatch.setattr(rates, "REMEMBERED", 2)
    made = Rates(rate=1, burst=1)
    for who in "abac":
        made.take(who, 0)

    assert (True, False, True) == tuple(made.wait(who, 0) > 0 for who in "abc")
