"""Functions as tools."""

import threading
from collections.abc import Callable
from functools import partial, wraps
from typing import Annotated, Any

import pytest
from pydantic import Field

from registry.calls import NO_CALL, Call
from registry.errors import BadArguments, ConfigurationError
from registry.tools.function import FunctionTool, as_tool, tool
from registry.tools.tool import ToolTraits

pytestmark = pytest.mark.anyio


async def inline(work: Callable[[], Any]) -> Any:
    """The threads port without threads."""
    return work()


def add(a: int, b: Annotated[int, Field(description="the second")] = 1) -> int:
    """Add two numbers.

    Args:
        a: the first
    """
    return a + b


def test_bare_decorator() -> None:
    """Name, description and schema come from the function; nothing is presumed about its effect."""
    made = tool(add)

    assert (made.spec.name, made.spec.description) == ("add", "Add two numbers.")
    assert [each["description"] for each in made.spec.parameters["properties"].values()] == ["the first", "the second"]
    assert ToolTraits() == made.traits


def test_decorator_with_arguments() -> None:
    """Every trait can be given, and name and description replaced."""
    made = tool(
        name="plus",
        description="Sum.",
        effect="keyed",
        timeout=3,
        retries=2,
        again_if_empty=0,
        concurrent=True,
        pinned=True,
        trusted=True,
        destinations=("a",),
        requires_approval=True,
        answered_by_user=True,
    )(add)

    assert (made.spec.name, made.spec.description) == ("plus", "Sum.")
    assert made.traits == ToolTraits(
        effect="keyed",
        timeout=3,
        retries=2,
        again_if_empty=0,
        concurrent=True,
        pinned=True,
        trusted=True,
        destinations=("a",),
        requires_approval=True,
        answered_by_user=True,
    )


async def test_a_probe_may_block() -> None:
    """One that is not async runs where the function does, in a thread; one that is stays in the loop."""
    main, seen = threading.get_ident(), []

    def look_up(key: str) -> str:
        seen.append(threading.get_ident())
        return f"found {key}"

    async def ask(key: str) -> str:
        seen.append(threading.get_ident())
        return f"asked {key}"

    blocking, waiting = (tool(effect="transactional", probe=probe)(add).traits.probe for probe in (look_up, ask))
    assert blocking is not None
    assert waiting is not None

    assert ("found k", "asked k") == (await blocking("k"), await waiting("k"))
    assert (False, True) == (seen[0] == main, seen[1] == main)


async def test_arguments_are_checked_without_a_call() -> None:
    """What `run` would refuse is refused beforehand, and nothing happens."""
    made = tool(add)
    made.check({"a": 1})

    with pytest.raises(BadArguments, match="a is required"):
        made.check({"b": 1})


def test_stays_callable() -> None:
    """Code that knows the function calls it as before."""
    assert tool(add)(2, b=3) == 5


def test_unknown_destination_is_refused() -> None:
    """A destination that is no parameter would protect nothing."""
    with pytest.raises(ConfigurationError, match="no parameter 'url'"):
        tool(destinations=("url",))(add)


async def test_async_function_runs_in_the_loop() -> None:
    """An async function is awaited where the agent runs."""

    @tool
    async def here() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert await here.run({}, NO_CALL) is True


@pytest.mark.real_clock
async def test_sync_function_runs_in_a_thread() -> None:
    """A blocking function does not run on the loop's thread."""

    @tool
    def here() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert await here.run({}, NO_CALL) is False


async def test_threads_are_a_port() -> None:
    """Whoever owns the threads decides where blocking functions run."""
    seen: list[Any] = []

    async def noting(work: Callable[[], Any]) -> Any:
        seen.append("here")
        return work()

    assert await tool(threads=noting)(add).run({"a": 2}, NO_CALL) == 3
    assert seen == ["here"]


async def test_call_is_injected() -> None:
    """A parameter annotated `Call` gets the context, and models can't set it."""

    @tool
    async def whose(context: Call, text: str = "x") -> str:
        return context.run + text

    assert await whose.run({}, Call(run="r1")) == "r1x"
    with pytest.raises(BadArguments, match="no parameter context"):
        await whose.run({"context": {"run": "r2"}}, NO_CALL)


async def test_arguments_are_checked_first() -> None:
    """Nothing runs on wrong arguments."""
    ran: list[int] = []

    @tool
    async def note(number: int) -> None:
        ran.append(number)

    with pytest.raises(BadArguments, match="number"):
        await note.run({"number": "1"}, NO_CALL)
    assert ran == []


def _undecorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapped


class Adder:
    async def __call__(self, a: int) -> int:
        return a + 1

    async def method(self, a: int) -> int:
        return a + 1


async def _add_one(a: int) -> int:
    return a + 1


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(_add_one, id="function"),
        pytest.param(partial(_add_one), id="partial"),
        pytest.param(Adder(), id="callable object"),
        pytest.param(Adder().method, id="method"),
        pytest.param(_undecorated(_add_one), id="async behind a sync wrapper"),
        pytest.param(lambda a: a + 1, id="lambda"),
    ],
)
async def test_anything_callable_can_be_a_tool(function: Callable[..., Any]) -> None:
    """All ways to write a callable end in the same result."""
    assert await FunctionTool(function, name="t", threads=inline).run({"a": 2}, NO_CALL) == 3


def test_a_function_with_some_of_its_arguments_keeps_its_name() -> None:
    """Name and description are those of the function, whatever was given to it beforehand."""
    made = tool(partial(partial(add), b=2))

    assert ("add", "Add two numbers.") == (made.spec.name, made.spec.description)


def test_a_lambda_needs_a_name() -> None:
    """Its own is none that anybody could call it by."""
    with pytest.raises(ConfigurationError, match="a lambda has no name that a model could call it by"):
        tool(lambda a: a)

    assert "one" == tool(name="one")(lambda: 1).spec.name


def test_as_tool() -> None:
    """A tool stays what it is, a function becomes one, and nothing else does."""
    made = tool(add)

    assert made is as_tool(made)
    assert as_tool(add).spec.name == "add"
    with pytest.raises(ConfigurationError, match="a str is neither"):
        as_tool("add")
