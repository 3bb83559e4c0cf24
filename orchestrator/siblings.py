"""Whether dagwright's other packages are really its own: a user's file of the same name may stand in front of one."""

from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("registry", "planner")


def shadowed() -> str | None:
    """A sentence about the file that hides one of our packages, None when all is well. Imports neither."""
    home = Path(__file__).resolve().parents[1]
    for package in PACKAGES:
        spec = find_spec(package)
        found = spec.origin if spec is not None else None
        if found is None:
            return f"dagwright's package {package!r} is missing beside {home / 'orchestrator'}; install dagwright again"
        if Path(found).resolve().parents[1] != home:
            return f"{found} hides dagwright's own package {package!r}; rename it, or run dagwright from another folder"
    return None
