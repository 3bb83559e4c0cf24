"""The tools of a run: those that come with dagwright, and those of the user's own modules."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from orchestrator.ports import Ports
from registry.builtin import ask_user, builtin_tools
from registry.errors import ConfigurationError, there_are
from registry.tools.function import as_tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Tool


def toolbox(named: tuple[str, ...], root: Path, ports: Ports, folder: Path = Path(), *, asking: bool = True) -> ToolRegistry:
    """Files are those below `root`. Each name is `module:name`, of a module in `folder` or installed.

    `asking` lets the models put questions to the user. A model that asks at random is better without.

    Raises `ConfigurationError`.
    """
    if not root.is_dir():
        raise ConfigurationError(f"no folder {str(root)!r} for the file tools")
    own = tuple(tool for name in named for tool in _load(name, folder))
    questions = (ask_user,) if asking else ()
    return ToolRegistry((*builtin_tools(root, ports.now), *questions, *own))


def _load(named: str, folder: Path) -> tuple[Tool, ...]:
    module_name, _, name = named.partition(":")
    if not module_name or not name:
        raise ConfigurationError(f"--tools {named!r} names no tool; write MODULE:NAME, such as my_tools:search")
    module = _imported(module_name, folder)
    if not hasattr(module, name):
        public = [known for known in vars(module) if not known.startswith("_")]
        raise ConfigurationError(f"--tools {named!r}: no {name!r} in {module.__file__}; {there_are(name, public)}")
    found = getattr(module, name)
    try:
        return tuple(map(as_tool, found if isinstance(found, list | tuple | ToolRegistry) else (found,)))
    except ConfigurationError as error:
        raise ConfigurationError(f"--tools {named!r}: {error}") from error


def _imported(name: str, folder: Path) -> ModuleType:
    """The module, of the folder first. That folder stays on the path, last: nothing installed is hidden by it."""
    here = str(folder.absolute())
    sys.path.insert(0, here)
    try:
        return import_module(name)
    except Exception as error:  # whatever a user's own module raises
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise ConfigurationError(f"--tools: no module named {name!r}, in {here!r} or installed") from error
        raise ConfigurationError(f"--tools: importing {name!r} failed: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)
