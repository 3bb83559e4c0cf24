"""Forecasts."""

from decimal import Decimal

import pytest
from hypothesis import given

from planner.figures import ASSUMED, DECLARED, Basis, Figures, Span
from planner.forecast import Defaults, forecast, likely_seconds
from planner.past import Experience, Took
from planner.plan import ApprovalStep, Estimate, JudgeCheck, MapStep, Plan, PlanLimits, PlanStep, ToolStep
from registry.models.prices import FREE, Price, Tariff
from tests.planner.drafts import draft, plan, plans, step

EVEN = Defaults(
    iterations=10,
    laps=3,
    written=0.5,
    call_tokens=Span(100.0, 100.0, 100.0),
    call_seconds=Span(1.0, 1.0, 1.0),
    tool_seconds=Span(2.0, 2.0, 2.0),
    items=Span(0.0, 4.0, 8.0),
)
A_CENT = Price(input=Decimal(100), output=Decimal(100)).tariff()
"""For each hundred tokens."""

ENDS = {"output": "${steps.a.output}"}


def price(hint: str | None) -> Tariff | None:
    return {None: A_CENT, "own": FREE, "planning": A_CENT, "synthesis": A_CENT}.get(hint)


def of(*steps, **fields) -> Figures:
    """The figures of the step `a`."""
    return forecast(draft(*steps, **fields), price, EVEN).steps["a"]


def test_what_is_not_done_again_takes_nothing():
    """A step that does what another one does costs nothing, and is done when that is done."""
    twins = step("b", task="do a"), step("c", "b")
    ahead = forecast(draft(step("a"), *twins, output="${steps.c.output}"), price, EVEN)
    alone = forecast(draft(step("a"), step("c", "a"), output="${steps.c.output}"), price, EVEN)

    assert Figures(seconds=ahead.steps["a"].seconds) == ahead.steps["b"]
    assert alone.total == ahead.total
    assert ("b", "c") == ahead.path


@pytest.mark.parametrize(
    ("steps", "calls", "seconds"),
    [
        pytest.param([step("a", tools=[])], (1, 1, 10), (1, 1, 10), id="no tools"),
        pytest.param([step("a")], (1, 3, 10), (1, 3, 10), id="with tools"),
        pytest.param([step("a", max_iterations=2)], (1, 2, 2), (1, 2, 2), id="short"),
        pytest.param([step("a", tools=[], max_iterations=1, retries=2)], (1, 1, 3), (1, 1, 3), id="tries"),
        pytest.param(
            [step("a", tools=[], max_iterations=1, retries=1, model_hint="own", escalate=["own2"])],
            (1, 1, 4),
            (1, 1, 4),
            id="models that take over",
        ),
        pytest.param(
            [step("a", tools=[], max_iterations=1, retries=1, verify=JudgeCheck(judge="good?"))],
            (2, 2, 4),
            (2, 2, 4),
            id="judged",
        ),
        pytest.param([step("a", tools=[], max_iterations=1, when="true")], (0, 1, 1), (0, 1, 1), id="perhaps"),
        pytest.param([ToolStep(id="a", tool="t", retries=1)], (0, 0, 0), (2, 2, 4), id="tool"),
        pytest.param([ApprovalStep(id="a", question="?")], (0, 0, 0), (0, 0, 0), id="a person's time is not counted"),
        pytest.param(
            [MapStep(id="a", over=[1, 2, 3], width=2, step=step("x", tools=[], max_iterations=1))], (3, 3, 3), (2, 2, 2), id="map"
        ),
        pytest.param(
            [MapStep(id="a", over="${inputs.l}", step=step("x", tools=[], max_iterations=1))],
            (0, 4, 8),
            (0, 1, 1),
            id="unknown list",
        ),
        pytest.param(
            [PlanStep(id="a", plan=draft(step("x", tools=[], max_iterations=1), ToolStep(id="y", tool="t")))],
            (1, 1, 1),
            (2, 2, 2),
            id="a plan within writes no answer",
        ),
        pytest.param([step("a", estimate=Estimate(calls=5))], (5, 5, 5), (5, 5, 5), id="declared calls"),
        pytest.param([step("a", estimate=Estimate(seconds=7))], (1, 3, 10), (7, 7, 7), id="declared seconds"),
    ],
)
def test_steps(steps, calls, seconds):
    """What a step takes follows from its kind, its tries and its estimate."""
    figures = of(*steps)

    assert (calls, seconds) == (figures.calls.points, figures.seconds.points)
    assert tuple(100 * number for number in calls) == figures.tokens.points


def test_limits_of_the_plan_count():
    """A step without a limit of its own has the plan's."""
    assert (1, 2, 2) == of(step("a"), limits=PlanLimits(max_iterations=2)).calls.points


@pytest.mark.parametrize(
    ("hint", "cost"),
    [
        pytest.param(None, (Decimal("0.01"), Decimal("0.01"), Decimal("0.02")), id="priced"),
        pytest.param("own", (0, 0, 0), id="free"),
        pytest.param("strange", None, id="unknown is not nothing"),
    ],
)
def test_money(hint, cost):
    """Tokens are charged by the model's tariff; what nobody knows stays unknown, and makes the sum a lower bound."""
    ahead = forecast(
        draft(step("a", tools=[], max_iterations=2, model_hint=hint), step("b", tools=[], max_iterations=1), **ENDS), price, EVEN
    )
    figures = ahead.steps["a"]

    assert cost == (figures.cost and figures.cost.points)
    assert (cost is not None) == ahead.priced
    assert ahead.total.cost.points == tuple(Decimal("0.01") + more for more in cost or (0, 0, 0))


def test_declared_tokens_are_charged():
    """An estimate of tokens is what is paid for."""
    assert (Decimal("0.03"),) * 3 == of(step("a", estimate=Estimate(tokens=300))).cost.points


def test_the_critical_path():
    """Side by side counts once: the total is that of the longest path, and the answer comes after it."""
    ahead = forecast(
        draft(
            step("a", estimate=Estimate(seconds=5)),
            step("b", estimate=Estimate(seconds=9)),
            step("c", "a", estimate=Estimate(seconds={"low": 1, "likely": 6, "high": 7})),
        ),
        price,
        EVEN,
    )

    assert ("a", "c") == ahead.path
    assert (9 + 1, 11 + 1, 12 + 1) == ahead.total.seconds.points
    assert (1, 1, 1) == ahead.answer.calls.points


def test_no_answer_to_write():
    """Where a step's output is the answer, nobody writes one."""
    assert forecast(draft(step("a"), **ENDS), price, EVEN).answer is None


@given(plans)
def test_order(drawn: Plan):
    """Whatever the plan, low is not above likely, nor likely above high, and the path is a path."""
    ahead = forecast(drawn, price)

    for figures in (*ahead.steps.values(), ahead.total):
        for span in (figures.calls, figures.tokens, figures.seconds, figures.cost):
            assert span is None or span.low <= span.likely <= span.high
    for before, after in zip(ahead.path, ahead.path[1:], strict=False):
        assert before in drawn.step(after).depends_on


def test_ten_thousand_steps():
    """A large plan has a forecast as well."""
    chain = plan(*(step(f"s{i}", *([f"s{i - 1}"] if i else [])) for i in range(10_000)))

    assert len(forecast(chain, price).path) == 10_000


TOOK = Took(low=2.0, likely=20.0, high=200.0, times=7)
KNOWN = Experience(past={"step/1": TOOK, "tool/t": TOOK}, scopes={"a": "step/1"})
HISTORY = Basis("history", 7)


@pytest.mark.parametrize(
    ("steps", "seconds", "basis"),
    [
        pytest.param([step("a", tools=[])], (2, 20, 200), HISTORY, id="the same step"),
        pytest.param([ToolStep(id="a", tool="t")], (2, 20, 200), HISTORY, id="one like it"),
        pytest.param([step("a", estimate=Estimate(seconds=7))], (7, 7, 7), DECLARED, id="the author's word counts more"),
        pytest.param([step("a", estimate=Estimate(calls=5))], (2, 20, 200), HISTORY, id="calls say less"),
        pytest.param([step("a", when="true")], (0, 20, 200), HISTORY, id="perhaps"),
        pytest.param(
            [MapStep(id="a", over=[1, 2, 3], width=2, step=ToolStep(id="x", tool="t"))], (4, 40, 400), HISTORY, id="items"
        ),
        pytest.param(
            [PlanStep(id="a", plan=draft(ToolStep(id="x", tool="t"), ToolStep(id="y", tool="t", depends_on=["x"])))],
            (4, 40, 400),
            HISTORY,
            id="a plan within",
        ),
        pytest.param(
            [PlanStep(id="a", plan=draft(ToolStep(id="a", tool="u"), ToolStep(id="y", tool="t")))],
            (2, 20, 200),
            ASSUMED,
            id="what has the same name in it is another step",
        ),
    ],
)
def test_what_took_so_long_before(steps, seconds, basis):
    """Seconds are those of earlier runs where the plan does not say, and it is said where they come from."""
    known = KNOWN if steps[0].kind in ("agent", "tool") else Experience(past={"tool/t": TOOK})
    figures = forecast(draft(*steps), price, EVEN, known).steps["a"]

    assert (seconds, basis) == (figures.seconds.points, figures.basis)


@given(plans)
def test_weights_are_likely_seconds(drawn: Plan):
    """What orders the steps of a run is what their forecast says, with and without a past."""
    unlimited = drawn.model_copy(update={"limits": PlanLimits()})
    for known in (Experience(), Experience(past={"tool/t": TOOK, "agent/": TOOK})):
        ahead = forecast(unlimited, price, experience=known)

        weights = likely_seconds(unlimited.steps, known)
        assert {name: figures.seconds.likely for name, figures in ahead.steps.items()} == weights
