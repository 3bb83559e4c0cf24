"""How a command ends: its exit code, and one sentence when it can't go on."""

import sys
from collections.abc import Callable

from orchestrator.errors import UnknownRun, UnknownWaiting
from registry.errors import ConfigurationError, DagwrightError

ACHIEVED = 0
NOT_ACHIEVED = 1
MISUSED = 2
SUSPENDED = 3
INTERRUPTED = 130


def guarded(work: Callable[[], int]) -> int:
    """The exit code of the work. Errors that are dagwright's own are told on stderr; every other one is a bug and goes on."""
    try:
        return work()
    except DagwrightError as error:
        return told(error)
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED


def told(error: DagwrightError) -> int:
    """Tells the error, and gives the exit code that belongs to it. A plan's findings take a line each."""
    from planner.errors import PlanError

    if isinstance(error, PlanError):
        say("the plan can't be run:")
        for diagnostic in error.diagnostics:
            print(diagnostic, file=sys.stderr)
        return NOT_ACHIEVED
    say(str(error))
    return MISUSED if isinstance(error, ConfigurationError | UnknownRun | UnknownWaiting) else NOT_ACHIEVED


def say(sentence: str) -> None:
    """A line of the program's own, beside what it shows of a run."""
    print(f"dagwright: {sentence}", file=sys.stderr)
