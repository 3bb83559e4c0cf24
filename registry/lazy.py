"""Public names that are imported when they are first used, so that importing a package costs next to nothing."""

from collections.abc import Callable, Mapping
from importlib import import_module


def lazily(package: str, where: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package whose public names live in these modules of it."""

    def get(name: str) -> object:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{where[name]}"), name)

    return get
