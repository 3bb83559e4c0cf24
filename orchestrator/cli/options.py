"""What the command line said, and what it can say."""

import shlex
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

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


class Options(Struct, frozen=True, kw_only=True):
    """`models`, `inputs` and `tools` are as written. `root` is None for the folder of the plan, or the working folder.

    `folder` is where the modules of tools are looked for first. `max_rounds` counts plans, the first one and its revisions. A run
    takes no more than `max_requests`, `max_tokens`, `max_cost` (dollars) and `max_seconds`; a plan that takes more of the last
    two by its lowest forecast is not begun. `allow_unpriced` limits money although nobody knows what some models charge.
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
    confirm: bool = False
    max_rounds: int | None = None
    max_requests: int | None = None
    max_tokens: int | None = None
    max_cost: Decimal | None = None
    max_seconds: float | None = None
    allow_unpriced: bool = False

    @property
    def asks_first(self) -> bool:
        """Whether a plan needs consent before it is done."""
        return self.confirm or self.max_cost is not None or self.max_seconds is not None

    def next_command(self, *words: str) -> str:
        """What to type next, for the same settings file."""
        config = () if self.config is None else ("--config", str(self.config))
        return shlex.join(("dagwright", *words, *config))
