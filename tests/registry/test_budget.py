"""A budget sets aside before and settles after, so that nobody spends what another one is about to."""

import math
from decimal import Decimal

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.budget import Amounts, Budget, Spending
from registry.errors import OverBudget
from registry.usage import UNMETERED, Usage

pytestmark = pytest.mark.anyio

ONE = Spending(tokens=100, cost=Decimal("0.5"), requests=1)


def metered(tokens: int, cost: str = "0") -> Usage:
    return Usage(requests=1, input_tokens=tokens, cost=Decimal(cost), priced=1)


def budget(**limits) -> Budget:
    return Budget(Amounts(**limits), since=0.0)


@pytest.mark.parametrize(
    ("limits", "kind", "left", "wanted"),
    [
        pytest.param({"tokens": 99}, "tokens", 99, 100, id="tokens"),
        pytest.param({"cost": Decimal("0.49")}, "cost", Decimal("0.49"), Decimal("0.5"), id="money"),
        pytest.param({"requests": 0}, "requests", 0, 1, id="requests"),
        pytest.param({"seconds": 5.0}, "seconds", 0, None, id="time"),
    ],
)
def test_what_does_not_fit_is_refused(limits, kind, left, wanted):
    """The error says whose budget it is, what there is too little of, and how much there is."""
    one = budget(**limits)
    with pytest.raises(OverBudget, match="the budget of the run has") as caught:
        one.reserve(ONE, 5.0)

    assert ("the run", kind, left, wanted) == (caught.value.whose, caught.value.kind, caught.value.left, caught.value.wanted)


def test_what_just_fits_is_taken():
    """A limit is what may be spent, to the last bit."""
    one = budget(tokens=100, cost=Decimal("0.5"), requests=1, seconds=5.0)
    one.reserve(ONE, 4.9)

    assert (0, Decimal(0), 0) == (one.left(4.9).tokens, one.left(4.9).cost, one.left(4.9).requests)
    assert 0.1 == pytest.approx(one.left(4.9).seconds)


def test_what_is_set_aside_is_not_there_for_others():
    """Until it is settled; then what was not used is."""
    one = budget(tokens=150)
    held = one.reserve(ONE, 0.0)
    with pytest.raises(OverBudget):
        one.reserve(ONE, 0.0)
    one.settle(held, metered(40))

    assert Amounts(tokens=110) == one.left(0.0)
    one.reserve(ONE, 0.0)


def test_a_step_spends_from_the_run():
    """What it sets aside must fit both; each counts what was spent in it."""
    run = budget(tokens=300)
    first = run.within(Amounts(tokens=150), since=0.0, whose="step 'a'")
    second = run.within(Amounts(tokens=1_000), since=0.0, whose="step 'b'")
    first.reserve(ONE, 0.0)
    with pytest.raises(OverBudget, match="the budget of step 'a' has 50 tokens left, and the request may take 100"):
        first.reserve(ONE, 0.0)
    second.reserve(ONE, 0.0)
    second.reserve(ONE, 0.0)
    with pytest.raises(OverBudget, match="the budget of the run has 0 tokens left"):
        second.reserve(ONE, 0.0)

    assert [0, 0, 0] == [each.left(0.0).tokens for each in (run, first, second)]
    assert [300, 100, 200] == [each.spending[1].tokens for each in (run, first, second)]


def test_what_one_refuses_is_set_aside_nowhere():
    """A refusal by the run leaves the step's own budget as it was."""
    run = budget(tokens=50)
    step = run.within(Amounts(tokens=500), since=0.0, whose="step 'a'")
    with pytest.raises(OverBudget):
        step.reserve(ONE, 0.0)

    assert [Spending(), Spending()] == [each.spending[1] for each in (step, run)]


@pytest.mark.parametrize(
    ("usage", "left", "estimated"),
    [
        pytest.param(metered(30, "0.1"), (970, "9.9"), 0, id="told"),
        pytest.param(metered(300, "1.0"), (700, "9.0"), 0, id="more than estimated"),
        pytest.param(UNMETERED, (900, "9.5"), 1, id="not told"),
        pytest.param(Usage(requests=1, output_tokens=7, unmetered=1), (900, "9.5"), 1, id="cut"),
        pytest.param(Usage(requests=1, input_tokens=30), (970, "9.5"), 0, id="told, and unpriced"),
        pytest.param(Usage(), (1_000, "10"), 0, id="never sent"),
    ],
)
def test_what_nobody_told_counts_as_was_estimated(usage, left, estimated):
    """And that is flagged, for it is a guess."""
    one = budget(tokens=1_000, cost=Decimal(10))
    one.settle(one.reserve(ONE, 0.0), usage)

    assert Amounts(tokens=left[0], cost=Decimal(left[1])) == one.left(0.0)
    assert estimated == one.estimated


def test_one_more_request():
    """One that is to be sent again needs another place, and is settled with both."""
    one = budget(requests=2)
    held = one.reserve(ONE, 0.0)
    one.enlarge(held, 0.0)
    with pytest.raises(OverBudget):
        one.enlarge(held, 0.0)
    one.settle(held, Usage(requests=2))

    assert 0 == one.left(0.0).requests


def test_what_was_spent_before():
    """A run that goes on begins with what it has spent, time too."""
    one = budget(tokens=1_000, requests=5, seconds=60.0)
    one.spent(Usage(requests=2, input_tokens=300, unmetered=1), seconds=20.0)

    assert Amounts(tokens=700, requests=3, seconds=30.0) == one.left(10.0)
    assert (1, 40.0) == (one.estimated, one.until)


def test_the_time_of_a_step_ends_with_the_runs():
    """Whichever ends first."""
    run = budget(seconds=60.0)

    assert [60.0, 40.0, 60.0] == [
        run.within(Amounts(seconds=seconds), since=30.0, whose="s").until for seconds in (None, 10.0, 90.0)
    ]


def test_nothing_is_limited():
    """Without limits there is no end, and nothing is used up."""
    one = budget()
    one.settle(one.reserve(ONE, 0.0), metered(10**9))

    assert (Amounts(), {}) == (one.left(0.0), one.used(0.0))
    assert not one.limits_any("tokens", "cost", "requests", "seconds")


def test_what_is_limited_anywhere_above():
    """A step is bound by the run's limits."""
    step = budget(cost=Decimal(1)).within(Amounts(tokens=5), since=0.0, whose="s")

    assert [True, True, False] == [step.limits_any(kind) for kind in ("tokens", "cost", "requests")]


@pytest.mark.parametrize(
    ("limits", "now", "used"),
    [
        pytest.param({"tokens": 200}, 0.0, {"tokens": 0.5}, id="tokens"),
        pytest.param({"tokens": 1_000, "cost": Decimal(1)}, 0.0, {"tokens": 0.1, "cost": 0.5}, id="each limit"),
        pytest.param({"requests": 1}, 0.0, {"requests": 1.0}, id="all"),
        pytest.param({"tokens": 1_000, "seconds": 10.0}, 8.0, {"tokens": 0.1, "seconds": 0.8}, id="time"),
    ],
)
def test_how_much_is_used(limits, now, used):
    """The part of each limit. What is only set aside does not count."""
    one = budget(**limits)
    one.settle(one.reserve(ONE, 0.0), metered(100, "0.5"))

    assert used == one.used(now)


@pytest.mark.parametrize(
    ("limits", "part"), [pytest.param({"tokens": 0}, 1.0, id="tokens"), pytest.param({"cost": Decimal(0)}, 0.0, id="money")]
)
def test_nothing_to_begin_with(limits, part):
    """It is used up; but what costs nothing goes on without money."""
    assert [part] == list(budget(**limits).used(0.0).values())


def test_what_is_left_for_others():
    """A budget inside another one leaves that something, however much of its own it has, and knows when that is all there is."""
    run = budget(tokens=1_000, requests=10)
    work = run.within(Amounts(), since=0.0, whose="the run", leaving=Spending(tokens=200, requests=3))
    for _ in range(7):
        work.settle(work.reserve(Spending(tokens=100, requests=1), 0.0), metered(80))
    with pytest.raises(OverBudget, match="the budget of the run has 0 requests left"):
        work.reserve(ONE, 0.0)

    assert (Amounts(requests=0, tokens=240), Amounts(requests=3, tokens=440)) == (work.left(0.0), run.left(0.0))
    assert ({"tokens": 0.7, "requests": 1.0}, {"tokens": 0.56, "requests": 0.7}) == (work.used(0.0), run.used(0.0))
    assert (False, True) == (work.could_take(ONE), run.could_take(ONE))
    run.reserve(ONE, 0.0)


@pytest.mark.parametrize(
    ("own", "whose"),
    [
        pytest.param({"requests": 2, "seconds": 3.0}, "step 'a'", id="its own"),
        pytest.param({"requests": 9, "seconds": 9.0}, "the run", id="the run's"),
        pytest.param({}, "the run", id="it has none"),
    ],
)
def test_whose_limit_it_is(own, whose):
    """Of all that hold for a step the one that is nearest to its end."""
    step = budget(requests=5, seconds=6.0).within(Amounts(**own), since=0.0, whose="step 'a'")

    assert [whose, whose] == [step.bound_by("requests"), step.bound_by("seconds")]


def test_what_was_given_up_is_known():
    """Where there was too little, and not in what is around it; the first time counts."""
    run = budget(tokens=1_000, requests=1_000)
    step = run.within(Amounts(tokens=50), since=0.0, whose="step 'a'")
    step.ran_short(OverBudget("step 'a'", "tokens", left=50, wanted=100))
    step.ran_short(OverBudget("step 'a'", "cost", left=0))

    assert ("tokens", None) == (step.short, run.short)


def test_what_is_on_its_way_may_come_back():
    """Nothing is left while it is away; whoever can wait may count on it."""
    one = budget(tokens=150)
    one.reserve(ONE, 0.0)

    assert Amounts(tokens=50) == one.left(0.0)
    assert one.could_take(ONE)


async def test_whoever_wants_to_know_notes_what_is_set_aside():
    """Before it is spent, and of every budget around it."""
    noted: list[tuple[str, int]] = []

    async def note(label: str) -> None:
        noted.append((label, run.spending[1].requests))

    run = Budget(Amounts(requests=5), since=0.0, note=note)
    step = run.within(Amounts(), since=0.0, whose="s")
    step.reserve(ONE, 0.0)
    await step.noted("a")

    assert [("a", 1)] == noted


def test_of_two_limits_the_smaller_one_holds():
    """Of each kind by itself."""
    one, other = Amounts(tokens=5, requests=9), Amounts(tokens=7, cost=Decimal(1))

    assert Amounts(tokens=5, requests=9, cost=Decimal(1)) == one.least(other) == other.least(one)
    assert ("requests", "tokens", "cost") == one.least(other).kinds


async def test_waiting_for_what_is_in_flight():
    """Worth while only where it would fit if that should cost nothing."""
    one = budget(tokens=150)
    held = one.reserve(ONE, 0.0)
    woken: list[bool] = []

    async def wait() -> None:
        woken.append(await one.within(Amounts(), since=0.0, whose="s").settled(ONE, math.inf))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert [] == woken
        one.settle(held, metered(60))

    assert [True, True] == woken
    assert not await one.settled(ONE, math.inf)


async def test_no_wait_for_what_is_in_flight_is_endless():
    """Who has no more time has waited long enough."""
    one = budget(tokens=150)
    one.reserve(ONE, 0.0)
    began = anyio.current_time()

    assert not await one.settled(ONE, began + 3)
    assert 3 == pytest.approx(anyio.current_time() - began, abs=0.4)


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans(), st.integers(0, 40)), max_size=60), st.integers(0, 200))
def test_limits_hold_whatever_the_order(acts, limit):
    """Requests never exceed their limit, nor do tokens that were not underestimated."""
    one, held = budget(tokens=limit, requests=10), []
    spent = requests = 0
    for estimate, settle, actual in acts:
        if settle and held:
            reservation = held.pop(0)
            tokens = min(actual, reservation.amount.tokens)
            one.settle(reservation, metered(tokens))
            spent += tokens
        else:
            try:
                held.append(one.reserve(Spending(tokens=estimate, requests=1), 0.0))
                requests += 1
            except OverBudget:
                continue
        in_flight = sum(each.amount.tokens for each in held)
        assert spent + in_flight <= limit
        assert requests <= 10
        assert limit - spent - in_flight == one.left(0.0).tokens
