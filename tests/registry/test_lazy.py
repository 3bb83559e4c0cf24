"""Names that are imported when they are first used."""

import subprocess
import sys

import pytest

from registry.lazy import lazily


def test_a_name_is_found_in_its_module() -> None:
    """The name leads to the object of the module that is said to have it."""
    from registry.usage import Usage

    assert Usage is lazily("registry", {"Usage": "usage"})("Usage")


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As with any module."""
    with pytest.raises(AttributeError, match="module 'registry' has no attribute 'Usag'"):
        lazily("registry", {"Usage": "usage"})("Usag")


@pytest.mark.parametrize("package", ["registry", "orchestrator"])
def test_importing_a_package_loads_nothing_heavy(package: str) -> None:
    """No graph, no schema library, no HTTP client and no event loop comes with the bare import."""
    heavy = ("networkx", "pydantic", "httpx", "aiohttp", "structlog", "rich", "typer", "anyio", "asyncio")
    code = f"import {package}, sys; print([name for name in {heavy!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == ran.stdout.strip()
