"""What the command line said."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`models`, `inputs` and `tools` are as written. `root` is None for the folder of the plan, or the working folder."""

    models: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    root: Path | None = None
    config: Path | None = None
    output: Path | None = None
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
