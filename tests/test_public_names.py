"""The names that users import: complete, and each where it is said to be."""

import ast
import importlib
from pathlib import Path

import pytest

PACKAGES = ("registry", "planner", "orchestrator")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_can_be_imported(package: str) -> None:
    """Each name of `__all__` is there, and stands there once."""
    module = importlib.import_module(package)

    assert len(set(module.__all__)) == len(module.__all__)
    assert [] == [name for name in module.__all__ if not hasattr(module, name)]


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_see_what_runs(package: str) -> None:
    """The imports that a type checker reads are exactly the names of `__all__`."""
    module = importlib.import_module(package)
    source = ast.parse(Path(module.__file__ or "").read_text())
    imported = {
        alias.name
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom) and node.module not in ("typing", "registry.lazy")
        for alias in node.names
    }

    assert set(module.__all__) == imported


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package: str) -> None:
    """A name that is not there says so in the usual way."""
    with pytest.raises(AttributeError, match="nonsense"):
        importlib.import_module(package).nonsense  # noqa: B018
