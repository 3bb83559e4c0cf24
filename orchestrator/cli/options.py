"""What the command line said, and what it can say."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

Texts = list[str] | None

Models = Annotated[
    Texts,
    typer.Option(
        "--model",
        "-m",
        metavar="[ROLE=]NAME",
        help="local, openai:gpt-4o, ollama:llama3.2:1b, or a name of the settings file. A second one is the fallback.",
    ),
]
Config = Annotated[Path | None, typer.Option(help="The settings file, dagwright.toml by default.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the answer there too.")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs: JSON on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing but the answer and errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show log lines on stderr.")]
"""Options that more than one command has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`models`, `inputs` and `tools` are as written. `root` is None for the folder of the plan, or the working folder.

    `folder` is where the modules of tools are looked for first.
    """

    models: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    root: Path | None = None
    folder: Path = Path()
    config: Path | None = None
    output: Path | None = None
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False

    def next_command(self, *words: str) -> str:
        """What to type next, for the same settings file."""
        config = () if self.config is None else ("--config", str(self.config))
        return shlex.join(("dagwright", *words, *config))
