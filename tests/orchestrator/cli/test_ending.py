"""Exit codes and the one sentence."""

import pytest

from orchestrator.cli.ending import guarded
from orchestrator.errors import RunHeld, StepTimedOut, UnknownRun, UnknownWaiting
from planner import PlanError
from planner.diagnostics import error
from registry.errors import ConfigurationError, DagwrightError, Unauthorized


@pytest.mark.parametrize(
    ("raised", "code", "told"),
    [
        pytest.param(ConfigurationError("set this"), 2, "dagwright: set this\n", id="settings"),
        pytest.param(Unauthorized("h", "no"), 1, "dagwright: h did not accept the credentials: no\n", id="a model"),
        pytest.param(StepTimedOut(3), 1, "dagwright: not done within 3 s\n", id="a run"),
        pytest.param(
            PlanError((error("P001", "/steps", "none"), error("P013", "", "no goal"))),
            1,
            "dagwright: the plan can't be run:\nP001 error at /steps: none\nP013 error: no goal\n",
            id="a plan",
        ),
        pytest.param(UnknownRun("x", ["r"]), 2, "dagwright: no run 'x' in the journal; there are: r\n", id="no such run"),
        pytest.param(UnknownWaiting("r", "x", "no"), 2, "dagwright: run 'r' does not wait for 'x': no\n", id="nothing waits"),
        pytest.param(
            RunHeld("r", "h", 3),
            1,
            "dagwright: run 'r' is already being worked on by h; its claim holds for 3 s more\n",
            id="held",
        ),
        pytest.param(KeyboardInterrupt(), 130, "dagwright: interrupted\n", id="Ctrl-C"),
    ],
)
def test_errors_become_codes(raised: DagwrightError, code: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each family of errors has its code, and a sentence on stderr."""

    def work() -> int:
        raise raised

    assert code == guarded(work)
    assert ("", told) == capsys.readouterr()


def test_our_own_bugs_are_not_hidden() -> None:
    """An error that is not dagwright's own goes on, so that the program can own up to it."""
    with pytest.raises(ZeroDivisionError):
        guarded(lambda: 1 // 0)
