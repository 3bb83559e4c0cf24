"""The least that the checks ask of a plan. `planner.plan` uses the checks, so they can't know its classes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from planner.diagnostics import Diagnostic
from registry.messages import Json


class InputShape(Protocol):
    @property
    def required(self) -> bool: ...


class StepShape(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def task(self) -> str: ...

    @property
    def depends_on(self) -> Sequence[str]: ...

    def texts(self) -> Iterator[tuple[str, Json]]:
        """Every value that may hold references, with its place relative to the step."""
        ...

    def tool_names(self) -> Iterator[tuple[str, str]]:
        """Every tool that the step names, with its place relative to the step."""
        ...

    def model_names(self) -> Iterator[tuple[str, str]]:
        """Every model or role that the step names, with its place relative to the step."""
        ...

    def faults(self) -> Iterator[Diagnostic]:
        """What is wrong with the step by itself, with places relative to it."""
        ...


class DraftShape(Protocol):
    @property
    def goal(self) -> str: ...

    @property
    def inputs(self) -> Mapping[str, InputShape]: ...

    @property
    def steps(self) -> Sequence[StepShape]: ...

    @property
    def output(self) -> str | None: ...
