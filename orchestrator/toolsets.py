"""Tools that are opened for a run and closed with it: those of a server, a browser, a database.

@asynccontextmanager
async def shop() -> AsyncIterator[list[Tool]]:
    async with connected("shop.example") as connection:

        @tool(effect="pure")
        async def find(title: str) -> list[str]:
            "Find books by their title."
            return await connection.find(title)

        yield [find]

Orchestrator(model, toolsets=[shop])
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskStatus

from orchestrator.errors import ToolsetFailed
from orchestrator.logs import report
from orchestrator.unwrapping import sole_error
from registry.tools.calling import told
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Tool

T = TypeVar("T")

Tools = Iterable[Tool | Callable[..., Any]]

Toolset = Callable[[], AbstractAsyncContextManager[Tools]]
"""Opens tools. What they need is closed when the block ends."""


async def with_toolsets(toolsets: Iterable[Toolset], tools: ToolRegistry, work: Callable[[ToolRegistry], Awaitable[T]]) -> T:
    """Do the work with these tools and those of the sets, which are all open meanwhile.

    Each set has a task of its own, which opens it and closes it: so whatever task uses its tools, and in whatever order the sets
    end, their cancel scopes are left where they were entered. Raises `ToolsetFailed` when one can't be opened, and when one
    breaks, which ends the work. What goes wrong afterwards is only reported.
    """
    over = anyio.Event()
    with sole_error():
        async with anyio.create_task_group() as group:
            for toolset in toolsets:
                tools = tools.with_tools(*await group.start(_keep, toolset, over))
            done = await work(tools)
            over.set()
    return done


async def _keep(toolset: Toolset, over: anyio.Event, *, task_status: TaskStatus[Tools]) -> None:
    try:
        async with toolset() as tools:
            task_status.started(tools)
            await over.wait()
    except Exception as error:
        name = getattr(toolset, "__name__", type(toolset).__name__)
        if not over.is_set():
            raise ToolsetFailed(name, told(error)) from error
        report(f"closing the tools of {name!r}", error)
