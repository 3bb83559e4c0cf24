"""Errors say what, which, and what to do; they keep their facts."""

import pytest

from orchestrator.errors import (
    AgentStopped,
    DeniedByHook,
    IterationsExhausted,
    JournalDamaged,
    JournalUnusable,
    LeaseLost,
    LoopRunning,
    OutcomeUnknown,
    Rejected,
    RunCancelled,
    RunError,
    RunHeld,
    StepError,
    StepTimedOut,
    ToolsetFailed,
    UnknownRun,
    UnknownWaiting,
)
from registry.errors import ConfigurationError, DagwrightError


@pytest.mark.parametrize(
    ("error", "family", "sentence"),
    [
        pytest.param(IterationsExhausted(15), StepError, "no conclusion after 15 iterations", id="exhausted"),
        pytest.param(AgentStopped("refused"), StepError, "the agent's last reply was refused", id="stopped"),
        pytest.param(AgentStopped("empty", "so"), StepError, "the agent's last reply was empty: so", id="stopped, and why"),
        pytest.param(StepTimedOut(0.5), StepError, "not done within 0.5 s", id="timed out"),
        pytest.param(Rejected(), StepError, "the user said no", id="rejected"),
        pytest.param(Rejected("not now", "Ann"), StepError, "Ann said no: not now", id="rejected, and why"),
        pytest.param(
            OutcomeUnknown("send"), StepError, "'send' was begun, and nobody knows whether it happened", id="outcome unknown"
        ),
        pytest.param(DeniedByHook("the plan", "too dear"), StepError, "a hook refused the plan: too dear", id="denied"),
        pytest.param(
            ToolsetFailed("shop", "OSError: no route"),
            RunError,
            "the tools of 'shop' can't be used: OSError: no route",
            id="toolset",
        ),
        pytest.param(
            LeaseLost("r1", 1, 2), RunError, "run 'r1' was claimed by another: our epoch is 1, the current one 2", id="lease"
        ),
        pytest.param(UnknownRun("r1", ["r2"]), RunError, "no run 'r1' in the journal; there are: r2", id="unknown run"),
        pytest.param(
            RunHeld("r1", "process 7", 12.5),
            RunError,
            "run 'r1' is already being worked on by process 7; its claim holds for 12.5 s more",
            id="held",
        ),
        pytest.param(RunCancelled("r1"), RunError, "run 'r1' was cancelled", id="cancelled"),
        pytest.param(
            JournalDamaged("j.db", "a page is bad"),
            RunError,
            "the journal is damaged: j.db: a page is bad; nothing of it was run",
            id="damaged",
        ),
        pytest.param(JournalUnusable("j.db", "disk full"), RunError, "the journal j.db can't be used: disk full", id="unusable"),
        pytest.param(
            UnknownWaiting("r1", "ab", "there is nothing"),
            RunError,
            "run 'r1' does not wait for 'ab': there is nothing",
            id="unknown waiting",
        ),
        pytest.param(
            LoopRunning(),
            ConfigurationError,
            "run_sync can't be used inside a running event loop; use `await orchestrator.run(...)` there",
            id="loop running",
        ),
    ],
)
def test_an_error_builds_its_sentence(error: DagwrightError, family: type[DagwrightError], sentence: str) -> None:
    """The constructor takes facts; the sentence and the family follow from them."""
    assert sentence == str(error)
    assert isinstance(error, family)


def test_the_facts_stay() -> None:
    """Nobody has to parse a sentence."""
    lost, denied = LeaseLost("r1", 1, 2), DeniedByHook("the plan", "too dear")

    assert ("r1", 1, 2) == (lost.run, lost.epoch, lost.current)
    assert ("the plan", "too dear") == (denied.what, denied.why)
    assert ("r1", 15, 0.5, "empty") == (
        UnknownRun("r1").run,
        IterationsExhausted(15).limit,
        StepTimedOut(0.5).seconds,
        AgentStopped("empty").outcome,
    )


def test_what_ends_a_run_is_no_step_error() -> None:
    """Only a StepError may be taken for the end of one step."""
    assert not isinstance(LeaseLost("r", 1, 2), StepError)
    assert not isinstance(UnknownRun("r"), StepError)
