"""Where a run stands, by its last Facts."""

import pytest

from orchestrator.events.facts import Answered, CancelRequested, Fact, RunEnded, RunInterrupted, RunStarted, RunSuspended
from orchestrator.journal.protocol import Listed
from orchestrator.standing import standing
from tests.orchestrator.cli.view.script import SUMMARY, recorded, started

BEGAN = RunStarted(goal="g", plan=None, inputs={}, today="2026-12-01")
SUSPENDED = RunSuspended(waiting=(), summary=SUMMARY)
ANSWERED = Answered(waiting="w", key="k", decision="approve")


def ended(outcome: str) -> RunEnded:
    return RunEnded(outcome=outcome, summary=SUMMARY)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param((), "interrupted", id="nothing"),
        pytest.param((BEGAN,), "interrupted", id="it died"),
        pytest.param((BEGAN, RunInterrupted(why="w")), "interrupted", id="it was interrupted"),
        pytest.param((BEGAN, SUSPENDED), "suspended", id="it waits"),
        pytest.param((BEGAN, SUSPENDED, ANSWERED), "suspended", id="it was answered and nobody went on"),
        pytest.param((BEGAN, SUSPENDED, ANSWERED, started("a")), "interrupted", id="it went on and died"),
        pytest.param((BEGAN, ended("achieved")), "achieved", id="achieved"),
        pytest.param((BEGAN, ended("missing")), "missing", id="missing"),
        pytest.param((BEGAN, ended("failed")), "failed", id="failed"),
        pytest.param((BEGAN, ended("failed"), started("a")), "interrupted", id="it failed, was resumed and died"),
        pytest.param((BEGAN, ended("failed"), SUSPENDED), "suspended", id="it failed, was resumed and waits"),
        pytest.param((BEGAN, CancelRequested(), ended("cancelled")), "cancelled", id="cancelled"),
    ],
)
def test_a_run_that_nobody_works_on(facts: tuple[Fact, ...], expected: str) -> None:
    """Its last work decides; what others said to it since does not."""
    assert expected == standing(Listed(run="r", facts=len(facts)), recorded(facts))


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        pytest.param(Listed(run="r", holder="somebody"), "running", id="worked on"),
        pytest.param(Listed(run="r", damage="torn"), "damaged", id="damaged"),
        pytest.param(Listed(run="r", holder="somebody", damage="torn"), "damaged", id="both"),
    ],
)
def test_what_the_journal_knows_comes_first(listed: Listed, expected: str) -> None:
    """Somebody may be working on it again, and nobody can say how a damaged one stands."""
    assert expected == standing(listed, recorded((BEGAN, SUSPENDED)))
