"""Logs go to stderr, and nowhere unless somebody set them up."""

from collections.abc import Iterator

import pytest
import structlog

from orchestrator.logs import note, report, show_logs


@pytest.fixture(autouse=True)
def unconfigured() -> Iterator[None]:
    """structlog's settings are the process's own; each test leaves none."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def test_a_report_keeps_off_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the host has set up nothing, a warning goes to stderr."""
    report("before_step", ValueError("no"))

    out, err = capsys.readouterr()
    assert out == ""
    assert 'level=warning event=observer_failed at=before_step error="ValueError: no"' in err


def test_details_are_for_those_who_ask(capsys: pytest.CaptureFixture[str]) -> None:
    """Without logs a detail is dropped; with them it is a line on stderr."""
    note("model_connected", model="a")
    assert capsys.readouterr() == ("", "")

    show_logs()
    note("model_connected", model="b")

    out, err = capsys.readouterr()
    assert out == ""
    assert "level=debug event=model_connected model=b" in err


def test_a_host_s_own_logs_are_used(capsys: pytest.CaptureFixture[str]) -> None:
    """What the host has set up decides what becomes of a report."""
    kept: list[dict[str, object]] = []

    def keep(_logger: object, _name: str, entry: dict[str, object]) -> str:
        kept.append(entry)
        raise structlog.DropEvent

    structlog.configure(processors=[keep])

    report("on_plan", ValueError("no"))

    assert [{"event": "observer_failed", "at": "on_plan", "error": "ValueError: no"}] == kept
    assert capsys.readouterr() == ("", "")
