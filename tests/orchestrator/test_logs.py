"""Logs go to stderr, or to whatever the host has set up; nothing depends on them."""

from collections.abc import Iterator

import pytest
import structlog
from structlog.testing import capture_logs

from orchestrator.logs import fault, note, report, show_logs


@pytest.fixture
def host() -> Iterator[None]:
    """A host that sets up logs, and leaves no trace."""
    yield
    structlog.reset_defaults()


def test_without_a_host_warnings_go_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    """Stdout is for answers; details are for those who asked for them."""
    report("Looks at the plan", OSError("disk full"))
    note("retry", attempt=2)

    out, err = capfd.readouterr()
    assert "" == out
    assert 'event=observer_failed at="Looks at the plan" error="OSError: disk full"' in err
    assert "retry" not in err


def test_a_fault_is_told_with_its_place(capfd: pytest.CaptureFixture[str]) -> None:
    """On one line, with the traceback: it ends a run or a request, and somebody is to mend it."""
    try:
        raise LookupError("a bug")
    except LookupError as bug:
        fault("run r1", bug)

    (line,) = capfd.readouterr().err.splitlines()
    assert 'level=error event=fault at="run r1" error="LookupError: a bug"' in line
    assert "test_a_fault_is_told_with_its_place" in line


@pytest.mark.usefixtures("host")
def test_a_host_gets_everything() -> None:
    """Where logs are set up, warnings and details go there."""
    structlog.configure()
    with capture_logs() as lines:
        report("Looks at the plan", OSError("disk full"))
        note("retry", attempt=2)

    assert [("warning", "observer_failed"), ("debug", "retry")] == [(line["log_level"], line["event"]) for line in lines]
    assert 2 == lines[1]["attempt"]


@pytest.mark.usefixtures("host")
def test_a_program_of_ours_shows_everything(capfd: pytest.CaptureFixture[str]) -> None:
    """`show_logs` sends every line to stderr."""
    show_logs()
    note("retry", attempt=2)

    out, err = capfd.readouterr()
    assert "" == out
    assert "event=retry attempt=2" in err
