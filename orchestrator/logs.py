"""Logs: what operators read. Nothing here is needed to understand or resume a run."""


def report(what: str, error: Exception) -> None:
    """Something that may not stop a run went wrong."""
    import structlog

    structlog.get_logger("dagwright").warning("observer_failed", at=what, error=f"{type(error).__name__}: {error}")
