"""When a budget comes to its end, and what is kept back for the end of the run. Pure decisions."""

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from orchestrator.errors import BudgetExhausted
from registry.budget import LANDING, Amounts, Budget, Spending
from registry.usage import NOTHING, Kind

LAST = 0.9
"""The part of tokens, money or time from which on nothing new begins, and an agent comes to its last word."""

ENDING = 0.1
"""The part of tokens, money and time that is kept back for the verdict, and as much again for the answer."""

WRITING = 2
"""Requests that are kept back for the answer: the second is for when the first one fails."""

ROOM_FOR_A_VERDICT, ROOM_FOR_A_SECOND = 4, 10
"""Requests of a run from which on one is kept back for its verdict, and a second one for its answer."""


class Kept(Struct, frozen=True, kw_only=True):
    """What the steps leave for the end of a run, and the verdict for the answer; and the time in which each must be done."""

    by_steps: Spending
    by_verdict: Spending
    steps: Amounts
    verdict: Amounts


def kept(limits: Amounts, *, judged: bool) -> Kept:
    """What to keep back in a run with these limits, whose steps a model judges, or only somebody who counts."""
    writing, judging = _requests(limits.requests, judged=judged)
    answer, verdict = _share(limits, writing), _share(limits, judging)
    steps, judge = (
        Amounts(seconds=None if limits.seconds is None else limits.seconds * part) for part in (1 - 2 * ENDING, 1 - ENDING)
    )
    return Kept(by_steps=answer + verdict, by_verdict=answer, steps=steps, verdict=judge)


def nearest(used: Mapping[Kind, float]) -> Kind | None:
    """The limit that it is time to land for: of those that are nearly used up, the one with most used."""
    most = max(used, key=used.__getitem__, default=None)
    return most if most is not None and used[most] >= LANDING else None


def over(used: Mapping[Kind, float]) -> Kind | None:
    """The limit because of which nothing new begins. Requests are exact, so each of them may be used."""
    return next((kind for kind, part in used.items() if part >= (1.0 if kind == "requests" else LAST)), None)


def last_word(budget: Budget | None, now: float) -> BudgetExhausted | None:
    """Why the next request must be an agent's last; None where it need not be."""
    if budget is None:
        return None
    left, kind = budget.left(now).requests, over(budget.used(now))
    if kind is None and left is not None and left <= 1:
        kind = "requests"
    return None if kind is None else BudgetExhausted(kind, budget.bound_by(kind))


def _requests(limit: int | None, *, judged: bool) -> tuple[int, int]:
    """How many for the answer and for the verdict. A run with very few of them needs them for its steps."""
    if limit is None:
        return 0, 0
    writing = WRITING if limit >= ROOM_FOR_A_SECOND else 1 if limit > 1 else 0
    return writing, int(judged and limit >= ROOM_FOR_A_VERDICT)


def _share(limits: Amounts, requests: int) -> Spending:
    tokens = 0 if limits.tokens is None else int(limits.tokens * ENDING)
    cost = NOTHING if limits.cost is None else limits.cost * Decimal(str(ENDING))
    return Spending(tokens=tokens, cost=cost, requests=requests)
