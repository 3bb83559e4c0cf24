"""Running what waits, until it ends or a signal does it."""

import signal

import anyio
import pytest

from orchestrator.cli.world import in_a_loop
from registry.errors import ConfigurationError


def test_what_it_returns_comes_back() -> None:
    """The loop ends with the work."""

    async def work() -> str:
        return "done"

    assert in_a_loop(work) == "done"


def test_its_error_comes_out_as_itself() -> None:
    """Callers catch what happened, not how the work was arranged."""

    async def work() -> None:
        raise ConfigurationError("no")

    with pytest.raises(ConfigurationError, match="no"):
        in_a_loop(work)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_it_clean_up(number: signal.Signals) -> None:
    """The work is cancelled, its cleaning up is waited for, and there is no result."""
    cleaned = []

    async def work() -> str:
        try:
            signal.raise_signal(number)
            await anyio.sleep(30)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
                cleaned.append(True)
        return "done"

    assert in_a_loop(work) is None
    assert cleaned == [True]


def test_a_second_one_does_not_wait() -> None:
    """Whoever presses Ctrl-C again is let go at once, whatever still cleans up."""

    async def work() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
            await anyio.sleep(30)
        finally:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        in_a_loop(work)
