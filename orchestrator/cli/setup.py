"""How a run was begun, written down with it, so that it can be resumed without saying so again. It holds no key."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Self

from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError

from orchestrator.cli.options import Options
from orchestrator.wiring import roles_asked
from registry.errors import ConfigurationError
from registry.http import address
from registry.messages import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """`models` and `tools` are as they were written. All paths are absolute; `folder` is the one the command was typed in.

    The limits are those of `Options`: they hold for the plans of a run that goes on, too.
    """

    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    root: Path = Path()
    folder: Path = Path()
    config: Path | None = None
    output: Path | None = None
    max_rounds: int | None = None
    max_cost: Decimal | None = None
    max_seconds: float | None = None

    @classmethod
    def of(cls, options: Options, root: Path, config: Path | None) -> Self:
        """What these options say, for a run whose file tools see `root`."""
        return cls(
            models=tuple(map(_without_secrets, options.models)),
            tools=options.tools,
            root=root.absolute(),
            folder=options.folder.absolute(),
            config=config and config.absolute(),
            output=options.output and options.output.absolute(),
            max_rounds=options.max_rounds,
            max_cost=options.max_cost,
            max_seconds=options.max_seconds,
        )

    @classmethod
    def read(cls, run: str, written: Mapping[str, Json]) -> Self:
        """What a run has written down. Raises `ConfigurationError` when this command line did not write it."""
        try:
            return TypeAdapter(cls).validate_python(written, strict=False)
        except ValidationError as error:
            raise ConfigurationError(f"run {run} was begun by another program; resume it there") from error

    def written(self) -> dict[str, Json]:
        """For the journal."""
        said: dict[str, Json] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return said

    def options(self, said: Options) -> Options:
        """The options of a run that goes on: those of its beginning, but for what is said anew."""
        return replace(
            said,
            models=said.models or self.models,
            tools=self.tools,
            root=self.root,
            folder=self.folder,
            output=said.output or self.output,
            max_rounds=self.max_rounds,
            max_cost=self.max_cost,
            max_seconds=self.max_seconds,
        )


def _without_secrets(argument: str) -> str:
    """The argument as it was written, but for user, password and query of an address."""
    ((role, (name,)),) = roles_asked((argument,)).items()
    if "://" not in name:
        return argument
    base_url, mark, model = name.partition("#")
    return f"{role}={address(base_url)}{mark}{model}"
