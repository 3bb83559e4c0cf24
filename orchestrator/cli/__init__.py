"""The command line. What it imports at once is little, so that help comes at once."""

import sys
from types import TracebackType


def main() -> None:
    """The program `dagwright`."""
    from orchestrator.siblings import shadowed

    if (hidden := shadowed()) is not None:
        print(f"dagwright: {hidden}", file=sys.stderr)
        raise SystemExit(2)
    sys.excepthook = _own_up
    from orchestrator.cli.app import command

    command()(prog_name="dagwright")


def _own_up(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """An error that no command expects is ours. Users read one sentence; who wants to help reads the rest."""
    if "--verbose" in sys.argv:
        sys.__excepthook__(kind, error, trace)
    print(f"dagwright: a bug in dagwright: {kind.__name__}: {error}; --verbose shows where it happened", file=sys.stderr)
