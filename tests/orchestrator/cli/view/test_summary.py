"""The end of a run in a few lines."""

from decimal import Decimal

import pytest
from msgspec.structs import replace

from orchestrator.cli.view.summary import summary_lines
from orchestrator.events.facts import RunOutcome
from orchestrator.events.figures import BudgetReport, Summary
from orchestrator.run import Answer
from registry.budget import Amounts
from registry.usage import UNMETERED, Usage
from tests.orchestrator.cli.view.script import FIRST, SUMMARY, USAGE


def lines(summary: Summary, outcome: RunOutcome = "achieved") -> list[str]:
    return summary_lines(
        Answer(run_id="r1", outcome=outcome, output="x", plan=FIRST, steps={}, usage=summary.usage, summary=summary)
    )


def test_a_summary_says_it_all() -> None:
    """Outcome, time, money, steps, what running side by side won, calls, tokens, and the run's id."""
    assert [
        "achieved in 9.0 s, $0.0123",
        "4 steps: 2 succeeded, 1 failed, 1 skipped",
        "step time 12.5 s; side by side: look, sum; that won 3.5 s",
        "1 model call, 2 tool calls, 1,234 tokens",
        "run r1",
    ] == lines(SUMMARY)


@pytest.mark.parametrize(
    ("summary", "line"),
    [
        pytest.param(
            replace(SUMMARY, usage=USAGE + UNMETERED), "2 model calls, 2 tool calls, at least 1,234 tokens", id="unmetered"
        ),
        pytest.param(replace(SUMMARY, usage=USAGE + UNMETERED), "achieved in 9.0 s, at least $0.0123", id="unpriced"),
        pytest.param(replace(SUMMARY, usage=UNMETERED), "achieved in 9.0 s, cost unknown", id="nothing priced"),
        pytest.param(replace(SUMMARY, usage=Usage(requests=3, priced=3)), "achieved in 9.0 s", id="free"),
        pytest.param(replace(SUMMARY, usage=Usage()), "achieved in 9.0 s", id="no request"),
        pytest.param(replace(SUMMARY, usage=Usage()), "0 model calls, 2 tool calls, 0 tokens", id="no model"),
        pytest.param(replace(SUMMARY, overlapped=()), "step time 12.5 s", id="one after another"),
        pytest.param(replace(SUMMARY, step_seconds=8.0), "step time 8.0 s; side by side: look, sum", id="nothing won"),
        pytest.param(replace(SUMMARY, reused=1), "reused 1 of the steps and calls done before", id="reused"),
        pytest.param(
            replace(SUMMARY, reused=1), "step time 12.5 s; side by side: look, sum", id="no gain claimed for a resumed run"
        ),
    ],
)
def test_a_summary_claims_no_more_than_it_knows(summary: Summary, line: str) -> None:
    """Lower bounds are called so, and a gain is only told where there was one in this life of the run."""
    assert line in lines(summary)


LIMITED = BudgetReport(
    limits=Amounts(requests=100, tokens=5_000, cost=Decimal("0.5"), seconds=60.0),
    spent=Amounts(requests=98, tokens=4_500, cost=Decimal("0.41"), seconds=9.0),
)


@pytest.mark.parametrize(
    ("budget", "usage", "line"),
    [
        pytest.param(
            LIMITED,
            USAGE,
            "budget: 98 of 100 requests, 4,500 of 5,000 tokens, $0.4100 of $0.5000, 9.0 s of 1 min 00 s",
            id="all is known",
        ),
        pytest.param(
            replace(LIMITED, estimated=1),
            USAGE + UNMETERED,
            "budget: 98 of 100 requests, at least 1,234 (counted as 4,500) of 5,000 tokens, "
            "at least $0.0123 (counted as $0.4100) of $0.5000, 9.0 s of 1 min 00 s",
            id="some was estimated",
        ),
        pytest.param(
            replace(LIMITED, limits=Amounts(requests=100), near="requests"),
            USAGE,
            "budget: 98 of 100 requests; it came near its limit of requests",
            id="it had to land",
        ),
        pytest.param(
            replace(LIMITED, limits=Amounts(cost=Decimal("0.5")), near="cost"),
            USAGE,
            "budget: $0.4100 of $0.5000; it came near its limit of money",
            id="for want of money",
        ),
    ],
)
def test_a_budget_is_told(budget: BudgetReport, usage: Usage, line: str) -> None:
    """What was spent of each limit: of what is not known in full the least, and what the run counted."""
    assert line in lines(replace(SUMMARY, usage=usage, budget=budget), "missing")


def test_a_run_without_steps_says_nothing_of_them() -> None:
    """A run that is suspended or failed early has a short summary."""
    nothing = replace(SUMMARY, steps=0, succeeded=0, failed=0, skipped=0, overlapped=(), step_seconds=0.0)

    assert ["suspended in 9.0 s, $0.0123", "1 model call, 2 tool calls, 1,234 tokens", "run r1"] == lines(nothing, "suspended")
