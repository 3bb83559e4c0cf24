"""Logs: what operators read. Nothing here is needed to understand or resume a run."""

import sys
from typing import Any


def report(what: str, error: Exception) -> None:
    """Something that may not stop a run went wrong."""
    _logger().warning("observer_failed", at=what, error=f"{type(error).__name__}: {error}")


def fault(what: str, error: Exception) -> None:
    """A fault of ours ended one run or one request, and nothing else. It is told with where it happened, for whoever mends it."""
    from traceback import format_exception

    _logger().error("fault", at=what, error=f"{type(error).__name__}: {error}", traceback="".join(format_exception(error)))


def note(event: str, **facts: object) -> None:
    """A detail for whoever looks for a fault. Costs nothing where nobody has set up logs."""
    structlog = sys.modules.get("structlog")
    if structlog is not None and structlog.is_configured():
        structlog.get_logger("dagwright").debug(event, **facts)


def show_logs() -> None:
    """Every log line to stderr, for a program of our own: libraries leave this to their host."""
    import structlog

    structlog.configure(processors=_processors(), logger_factory=structlog.PrintLoggerFactory(sys.stderr))


def _logger() -> Any:
    """The host's logger, or one that writes to stderr where the host has set up none: stdout is for answers."""
    import structlog

    if structlog.is_configured():
        return structlog.get_logger("dagwright")
    return structlog.wrap_logger(structlog.PrintLogger(sys.stderr), processors=_processors())


def _processors() -> list[Any]:
    import structlog

    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
    ]
