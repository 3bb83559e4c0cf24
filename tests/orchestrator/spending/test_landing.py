"""When a run lands, and what it keeps for its end."""

from decimal import Decimal

import pytest

from orchestrator.spending.landing import Kept, kept, last_word, nearest, over
from registry.budget import UNLIMITED, Amounts, Budget, Spending
from registry.usage import Usage


@pytest.mark.parametrize(
    ("limit", "judged", "steps", "verdict"),
    [
        pytest.param(100, True, 3, 2, id="an answer, a second try at it, a verdict"),
        pytest.param(100, False, 2, 2, id="no verdict"),
        pytest.param(9, True, 2, 1, id="few"),
        pytest.param(3, True, 1, 1, id="too few for a verdict"),
        pytest.param(1, True, 0, 0, id="a single one"),
    ],
)
def test_requests_are_kept_for_the_end(limit: int, judged: bool, steps: int, verdict: int) -> None:
    """By the steps for verdict and answer, by the verdict for the answer."""
    found = kept(Amounts(requests=limit), judged=judged)

    assert (Spending(requests=steps), Spending(requests=verdict)) == (found.by_steps, found.by_verdict)


def test_a_tenth_is_kept_of_all_else() -> None:
    """For the verdict, and as much again for the answer; nothing where nothing is limited."""
    found = kept(Amounts(tokens=1_000, cost=Decimal("0.5"), seconds=50.0), judged=True)

    assert (
        Kept(
            by_steps=Spending(tokens=200, cost=Decimal("0.1")),
            by_verdict=Spending(tokens=100, cost=Decimal("0.05")),
            steps=Amounts(seconds=40.0),
            verdict=Amounts(seconds=45.0),
        )
        == found
    )
    assert Kept(by_steps=Spending(), by_verdict=Spending(), steps=UNLIMITED, verdict=UNLIMITED) == kept(UNLIMITED, judged=True)


@pytest.mark.parametrize(
    ("used", "near", "end"),
    [
        pytest.param({}, None, None, id="no limits"),
        pytest.param({"requests": 0.79, "tokens": 0.2}, None, None, id="far from it"),
        pytest.param({"requests": 0.8, "tokens": 0.85}, "tokens", None, id="near"),
        pytest.param({"requests": 0.99, "tokens": 0.89}, "requests", None, id="requests are exact"),
        pytest.param({"requests": 0.99, "cost": 0.9}, "requests", "cost", id="money is not"),
        pytest.param({"requests": 1.0}, "requests", "requests", id="all used"),
    ],
)
def test_near_and_over(used: dict, near: str | None, end: str | None) -> None:
    """A run lands at four fifths, and begins nothing new when there is nothing left, or, of what is estimated, at nine tenths."""
    assert (near, end) == (nearest(used), over(used))


@pytest.mark.parametrize(
    ("requests", "tokens", "kind"),
    [
        pytest.param(8, 0, None, id="two left"),
        pytest.param(9, 0, "requests", id="the last one"),
        pytest.param(1, 900, "tokens", id="hardly any tokens"),
    ],
)
def test_a_last_word(requests: int, tokens: int, kind: str | None) -> None:
    """An agent comes to it with the last request, or when it may soon not be able to ask."""
    budget = Budget(Amounts(requests=10, tokens=1_000), since=0.0)
    budget.spent(Usage(requests=requests, input_tokens=tokens))

    last = last_word(budget, 0.0)

    assert kind == (last and last.kind)
    assert last_word(None, 0.0) is None
