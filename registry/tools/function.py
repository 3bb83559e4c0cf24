"""Tools made of plain functions.

@tool(effect="pure", timeout=10)
def search(query: str, limit: int = 5) -> list[str]:
    "Search the archive."
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

import anyio.to_thread

from registry.calls import Call
from registry.errors import ConfigurationError
from registry.messages import Json, ToolSpec
from registry.tools.docstrings import read_docstring
from registry.tools.signature import Signature
from registry.tools.tool import Effect, Probe, Tool, ToolTraits

P = ParamSpec("P")
R = TypeVar("R")

Threads = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a blocking function somewhere that it doesn't block the loop."""


async def in_worker_thread(work: Callable[[], Any]) -> Any:
    """Run it in a thread of anyio's. A cancelled wait leaves the thread to finish by itself: nothing can stop it."""
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


class FunctionTool(Generic[P, R]):
    """A function as a tool. Called, it is still that function; `run` is how an agent calls it.

    A parameter annotated `Call` receives the call's context and is not shown to models.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        threads: Threads = in_worker_thread,
        probe: Callable[[str], object] | None = None,
        **traits: Any,
    ) -> None:
        """Name and description default to the function's own; `probe` may be async or not; `traits` are those of `ToolTraits`.

        Raises `ConfigurationError` when models can't be told how to call it.
        """
        if name is None:
            name = str(getattr(function, "__name__", type(function).__name__))
        described = read_docstring(inspect.getdoc(function))
        self.__wrapped__ = function
        self.__doc__ = function.__doc__
        self._signature = Signature(name, function, described.parameters)
        self._threads = None if _is_async(function) else threads
        summary = described.summary if description is None else description
        self.spec = ToolSpec(name=name, description=summary, parameters=self._signature.schema)
        self.traits = ToolTraits(probe=None if probe is None else _probing(probe, threads), **traits)
        for destination in self.traits.destinations:
            if destination not in self._signature.names:
                raise ConfigurationError(f"tool {name!r} has no parameter {destination!r} that could be a destination")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.__wrapped__(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    async def run(self, args: Mapping[str, Json], call: Call) -> object:
        """Check the arguments and call the function: in the loop if it is async, otherwise in a thread."""
        values = self._signature.read(args)
        if self._signature.call_parameter is not None:
            values[self._signature.call_parameter] = call
        function = cast("Callable[..., Any]", self.__wrapped__)
        return await _called(partial(function, **values), self._threads)

    def check(self, args: Mapping[str, Json]) -> None:
        """Hold the arguments against the function's signature, as `run` does. Raises `BadArguments`."""
        self._signature.read(args)


async def _called(work: Callable[[], Any], threads: Threads | None) -> Any:
    """What the work comes to: in the loop if there are no threads for it."""
    result = work() if threads is None else await threads(work)
    return await result if inspect.isawaitable(result) else result


def _probing(probe: Callable[[str], object], threads: Threads) -> Probe:
    where = None if _is_async(probe) else threads
    return lambda key: _called(partial(probe, key), where)


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "unkeyed",
    timeout: float | None = None,
    retries: int = 0,
    concurrent: bool | None = None,
    pinned: bool = False,
    trusted: bool = False,
    destinations: tuple[str, ...] = (),
    requires_approval: bool = False,
    answered_by_user: bool = False,
    probe: Callable[[str], object] | None = None,
    threads: Threads = in_worker_thread,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a tool: `@tool`, or `@tool(effect="pure", ...)` with the traits of `ToolTraits`.

    The description is the docstring's first paragraph; parameters are described there too, or by `Annotated[..., Field()]`.
    `threads` runs what is not async.
    """
    if function is None:
        return partial(FunctionTool, **options)
    return FunctionTool(function)


def as_tool(made_of: Tool | Callable[..., Any]) -> Tool:
    """A tool as it is, a function as a tool with the default traits. Raises `ConfigurationError` for anything else."""
    if hasattr(made_of, "spec") and hasattr(made_of, "run"):
        return cast("Tool", made_of)
    if callable(made_of):
        return FunctionTool(made_of)
    raise ConfigurationError(f"a {type(made_of).__name__} is neither a tool nor a function")
