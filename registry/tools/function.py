"""Tools made of plain functions.

@tool(effect="pure", timeout=10)
def search(query: str, limit: int = 5) -> list[str]:
    "Search the archive."
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from registry.calls import Call
from registry.errors import ConfigurationError
from registry.messages import Json, Schema, ToolSpec
from registry.tools.docstrings import read_docstring
from registry.tools.signature import Signature
from registry.tools.threads import Threads, in_worker_thread
from registry.tools.tool import Effect, Probe, Tool, ToolTraits

P = ParamSpec("P")
R = TypeVar("R")


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
        own = _beneath(function)
        name = _name_of(own) if name is None else name
        described = read_docstring(inspect.getdoc(own))
        self.__wrapped__ = function
        self.__doc__ = own.__doc__
        self._signature = Signature(name, function, described.parameters)
        self._threads = None if _is_async(function) else threads
        summary = described.summary if description is None else description
        self.spec = ToolSpec(name=name, description=summary, parameters=self._signature.schema)
        self.traits = ToolTraits(probe=None if probe is None else _probing(probe, threads), **traits)
        for destination in self.traits.destinations:
            if destination not in self._signature.names:
                raise ConfigurationError(f"tool {name!r} has no parameter {destination!r} that could be a destination")

    @property
    def in_thread(self) -> bool:
        """Whether it runs where nothing can stop it."""
        return self._threads is not None

    @property
    def takes_call(self) -> bool:
        """Whether the function sees what each call belongs to."""
        return self._signature.call_parameter is not None

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
        if self._threads is None:
            return await function(**values)
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


def _beneath(function: Callable[..., object]) -> Callable[..., object]:
    """The function that others were made of by giving it some of its arguments: it is the one with a name and a docstring."""
    return _beneath(function.func) if isinstance(function, partial) else function


def _name_of(function: Callable[..., object]) -> str:
    name = str(getattr(function, "__name__", type(function).__name__))
    if name == "<lambda>":
        raise ConfigurationError("a lambda has no name that a model could call it by; give it one: tool(name=...)(lambda ...)")
    return name


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
    again_if_empty: int = 1,
    cacheable: bool = False,
    concurrent: bool | None = None,
    pinned: bool = False,
    trusted: bool = False,
    destinations: tuple[str, ...] = (),
    requires_approval: bool = False,
    answered_by_user: bool = False,
    probe: Callable[[str], object] | None = None,
    result: Schema | None = None,
    threads: Threads = in_worker_thread,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a tool: `@tool`, or `@tool(effect="pure", ...)` with the traits of `ToolTraits`.

    The description is the docstring's first paragraph; parameters are described there too, or by `Annotated[..., Field()]`.
    A parameter annotated `Call` gets what the call belongs to: `call.run`, `call.label` (the step), `call.key`, the idempotency
    key of an effect, and `call.earlier`, what the calls before it in the same reply came to. What is not async runs in
    `threads`, where it may block.

    To have the model change something and call again, raise `TryAgain("give the date as 2026-01-31")`: it may be asked so as
    often in a row as the tool has `retries`, and twice where it has none. For what another try would not change, raise
    `ToolFailed("search", "the archive is closed")`: the model reads why, and goes on. Any other exception fails the call too,
    after the tool's `retries`.
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
