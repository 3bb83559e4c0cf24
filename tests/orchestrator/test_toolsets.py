"""Tools that are opened for a run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.errors import RunCancelled, ToolsetFailed
from orchestrator.toolsets import Toolset
from planner import Plan, PlanError, ToolStep
from registry.testing import ScriptedModel
from registry.tools.function import FunctionTool, tool

pytestmark = pytest.mark.anyio


class Server:
    """Something with a connection that lives in a task group, as those of real protocols do. It keeps a diary."""

    def __init__(self, name: str, *, fails: str = "", breaks_after: float | None = None) -> None:
        self.name, self.fails, self.breaks_after = name, fails, breaks_after
        self.diary: list[str] = []
        self.tasks: list[int] = []

    @asynccontextmanager
    async def tools(self) -> AsyncIterator[list[FunctionTool[..., str]]]:
        if self.fails == "opening":
            raise OSError("no route")
        async with anyio.create_task_group() as group:
            group.start_soon(self._pump)
            self._note("opened")
            try:
                yield [FunctionTool(self._ask, name=f"ask_{self.name}", effect="pure")]
            finally:
                self._note("closed")
                group.cancel_scope.cancel()
        if self.fails == "closing":
            raise OSError("no goodbye")

    def _note(self, what: str) -> None:
        self.diary.append(what)
        self.tasks.append(anyio.get_current_task().id)

    async def _pump(self) -> None:
        await anyio.sleep(self.breaks_after or 1e9)
        raise ConnectionError("hung up")

    async def _ask(self, seconds: float = 1.0) -> str:
        """Ask the server."""
        self.diary.append("asked")
        await anyio.sleep(seconds)
        return f"{self.name} answered"


def plan(*names: str, seconds: float = 1.0) -> Plan:
    steps = [ToolStep(id=name, tool=f"ask_{name}", args={"seconds": seconds}) for name in names]
    return Plan(goal="g", steps=steps, output=f"${{steps.{names[-1]}.output}}")


def orchestrator(*servers: Server, journal: MemoryJournal | None = None) -> Orchestrator:
    toolsets: list[Toolset] = [server.tools for server in servers]
    return Orchestrator(ScriptedModel([]), toolsets=toolsets, journal=journal)


async def test_they_are_open_for_the_run() -> None:
    """Each is opened once for a run and closed when it is over, by one task, whichever tasks use its tools."""
    a, b = Server("a"), Server("b")
    lent = orchestrator(a, b)
    for _ in range(2):
        answer = await lent.run(plan("a", "b"))
        assert ("achieved", "b answered") == (answer.outcome, answer.output)

    for server in (a, b):
        assert ["opened", "asked", "closed"] * 2 == server.diary
        first, second = server.tasks[:2], server.tasks[2:]
        assert ([first[0]] * 2, [second[0]] * 2) == (first, second)


async def test_they_stand_beside_the_others() -> None:
    """A plan may use all of them, and only those that there are."""

    @tool(effect="pure")
    async def ask_c(seconds: float) -> str:
        """Ask nobody."""
        return "c answered"

    lent = Orchestrator(ScriptedModel([]), tools=[ask_c], toolsets=[Server("a").tools])
    assert "c answered" == (await lent.run(plan("a", "c"))).output
    with pytest.raises(PlanError, match="ask_d"):
        await lent.run(plan("d"))


async def test_one_that_cannot_be_opened_ends_the_run() -> None:
    """Those that are open are closed, and nothing has been done; when it can be opened after all, the run is resumed."""
    a, journal = Server("a"), MemoryJournal()
    with pytest.raises(ToolsetFailed, match="the tools of 'tools' can't be used: OSError: no route"):
        await orchestrator(a, Server("b", fails="opening"), journal=journal).run(plan("b"))

    assert ["opened", "closed"] == a.diary
    (listed,) = await journal.runs()
    assert ["run_started", "run_ended"] == [recorded.event.kind for recorded in await journal.read(listed.run)]
    assert "b answered" == (await orchestrator(a, Server("b"), journal=journal).resume(listed.run)).output


async def test_one_that_breaks_ends_the_run() -> None:
    """The run has failed and can be resumed: what was done stays done."""
    journal, broken = MemoryJournal(), Server("b", breaks_after=5)
    steps = plan("a", seconds=1).steps + tuple(
        step.model_copy(update={"depends_on": ("a",)}) for step in plan("b", seconds=9).steps
    )
    wanted = Plan(goal="g", steps=steps, output="${steps.b.output}")
    a = Server("a")
    with pytest.raises(ToolsetFailed, match="the tools of 'tools' can't be used: ConnectionError: hung up"):
        await orchestrator(a, broken, journal=journal).run(wanted)
    assert ["opened", "asked", "closed"] == a.diary

    (listed,) = await journal.runs()
    answer = await orchestrator(a, Server("b"), journal=journal).resume(listed.run)
    assert ("achieved", "b answered") == (answer.outcome, answer.output)
    assert ["opened", "asked", "closed", "opened", "closed"] == a.diary


async def test_one_that_fails_to_close_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is there by then, and stands."""
    answer = await orchestrator(Server("a", fails="closing")).run(plan("a"))

    assert ("achieved", "a answered") == (answer.outcome, answer.output)
    assert "closing the tools of 'tools'" in capsys.readouterr().err


async def test_a_cancelled_run_closes_them() -> None:
    """Whatever ends a run ends them."""
    a = Server("a")
    async with orchestrator(a).open(plan("a", seconds=100)) as run:
        async for recorded in run.events:
            if recorded.event.kind == "tool_started":
                await run.cancel()
        with pytest.raises(RunCancelled):
            await run.answer()

    assert ["opened", "asked", "closed"] == a.diary
