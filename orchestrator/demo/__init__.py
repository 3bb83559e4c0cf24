"""The demo: a plan and its documents, inside the wheel and the same as in examples/ of a checkout."""

from importlib.resources import files
from pathlib import Path


def demo_folder() -> Path:
    """The folder that holds `brief.yaml` and `documents/`."""
    packed = Path(str(files(__name__)))
    return packed if (packed / "brief.yaml").is_file() else packed.parents[1] / "examples"
