"""A run that is stopped: what runs finishes, the rest is skipped with the reason, and the answer is made from what there is."""

from typing import Any

import anyio
import pytest

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.answering import decide, speak
from orchestrator.errors import UnknownRun
from orchestrator.events.facts import PlanReady, RunInterrupted, RunSuspended, StepStarted, StopRequested
from orchestrator.journal.protocol import Journal
from orchestrator.limits import Limits
from orchestrator.run import Answer
from planner import ApprovalStep, MapStep, Plan, Step, ToolStep
from planner.results import Skipped, Succeeded
from registry.messages import Request
from registry.testing import Line, asks
from registry.tools.function import tool
from tests.orchestrator.parts import judged, plan_of, planned, played

pytestmark = pytest.mark.anyio

A = ToolStep(id="a", tool="work")
B = Step(id="b", task="b", depends_on=("a",))

WHY = "the run was stopped: enough"


def skipped(step: str, why: str = WHY) -> Skipped:
    return Skipped(step=step, because_of=step, reason=why)


class Stage:
    """A tool that takes a while, and a run to be stopped meanwhile."""

    def __init__(self, plan: Plan | str, /, *, journal: Journal | None = None, **parts: Any) -> None:
        self.plan, self.begun, self.go_on = plan, anyio.Event(), anyio.Event()
        self.journal = journal or MemoryJournal()
        self.model = played(**{"synthesis": lambda _: "what there is", "step": lambda _: "found", **parts})

        @tool(effect="pure")
        async def work(what: str = "") -> str:
            """Works."""
            self.begun.set()
            await self.go_on.wait()
            return f"worked {what}"

        self.orchestrator = Orchestrator(self.model, tools=[work], journal=self.journal, limits=Limits(submitted_rounds=1))

    async def stopped(self, why: str = "enough") -> Answer:
        """The answer of the run, which was stopped while the tool worked."""
        async with self.orchestrator.open(self.plan) as run:
            await self.begun.wait()
            await run.stop(why)
            await anyio.sleep(1)
            self.go_on.set()
            return await run.answer()


async def test_what_runs_finishes_and_the_rest_is_skipped() -> None:
    """What depends on it, too, though it succeeds."""
    plan = plan_of(
        ToolStep(id="a", tool="work"), Step(id="b", task="b", depends_on=("a",)), Step(id="c", task="c", depends_on=("b",))
    )
    answer = await Stage(plan).stopped()

    assert isinstance(answer.steps["a"], Succeeded)
    assert skipped("b") == answer.steps["b"]
    assert isinstance(answer.steps["c"], Skipped)
    assert WHY == answer.steps["c"].reason
    assert ("missing", "what there is") == (answer.outcome, answer.output)


async def test_without_a_reason() -> None:
    """It says that it was stopped, and no more."""
    plan = plan_of(A, B)
    answer = await Stage(plan).stopped("")

    assert skipped("b", "the run was stopped") == answer.steps["b"]


async def test_a_map_begins_no_further_parts() -> None:
    """Those under way finish, and the map ends with them as it is."""
    parts = MapStep(id="m", over=["x", "y", "z"], width=1, step=ToolStep(id="each", tool="work", args={"what": "${item}"}))
    stage = Stage(plan_of(parts))
    answer = await stage.stopped()
    run = (await stage.journal.runs())[0].run
    begun = [each.event.step for each in await stage.journal.read(run) if isinstance(each.event, StepStarted)]

    assert ["m", "m[0]"] == begun
    assert "missing" == answer.outcome


async def test_what_waits_for_a_person_is_skipped() -> None:
    """Nobody need answer any more, while others still run and after that."""
    plan = plan_of(
        ToolStep(id="a", tool="work"), ApprovalStep(id="ask", question="May I?"), Step(id="b", task="b", depends_on=("ask",))
    )
    answer = await Stage(plan).stopped()

    assert isinstance(answer.steps["a"], Succeeded)
    assert skipped("ask") == answer.steps["ask"]
    assert isinstance(answer.steps["b"], Skipped)
    assert () == answer.waiting


async def test_an_agent_that_waits_is_skipped_without_another_word() -> None:
    """Its tool call is never made, and no model is asked again."""
    sent = list[str]()

    @tool(requires_approval=True)
    def send(text: str) -> str:
        """Send it."""
        sent.append(text)
        return "sent"

    asked = list[Request]()

    def step(request: Request) -> Line:
        asked.append(request)
        return asks("send", text="hello")

    journal = MemoryJournal()
    orchestrator = Orchestrator(
        played(step=step, synthesis=lambda _: "nothing was done"),
        tools=[send],
        journal=journal,
        limits=Limits(submitted_rounds=1),
    )
    answer = await orchestrator.run(plan_of(Step(id="a", task="send it")))
    await speak(journal, answer.run_id, StopRequested(why="enough"))
    end = await orchestrator.resume(answer.run_id)

    assert ("suspended", "missing") == (answer.outcome, end.outcome)
    assert skipped("a") == end.steps["a"]
    assert ([], 1) == (sent, len(asked))


async def test_a_stopped_run_is_not_revised() -> None:
    """However much its judge misses."""

    def step(request: Request) -> Line:
        return "found" if request.messages[-1].role == "tool" else asks("work")

    stage = Stage("goal", plan=lambda _: planned("a"), step=step, verdict=lambda _: judged(False, missing=["all"]))
    answer = await stage.stopped()
    facts = [each.event for each in await stage.journal.read(answer.run_id)]

    assert 1 == sum(isinstance(event, PlanReady) for event in facts)
    assert isinstance(answer.steps["a"], Succeeded)


async def test_a_stop_outlives_the_process() -> None:
    """What had begun is finished by the next one, and nothing else begins."""
    journal = MemoryJournal()
    plan = plan_of(A, B)
    first, second = Stage(plan, journal=journal), Stage(plan, journal=journal)
    async with first.orchestrator.open(plan) as run:
        await first.begun.wait()
        await run.stop("enough")
    assert isinstance((await journal.read(run.id))[-1].event, RunInterrupted)
    second.go_on.set()
    answer = await second.orchestrator.resume(run.id)

    assert isinstance(answer.steps["a"], Succeeded)
    assert skipped("b") == answer.steps["b"]


async def test_an_answer_after_a_stop_changes_nothing() -> None:
    """The step that waited is skipped all the same."""
    journal = MemoryJournal()
    plan = plan_of(ApprovalStep(id="ask", question="May I?"), Step(id="b", task="b", depends_on=("ask",)))
    stage = Stage(plan, journal=journal)
    suspended = await stage.orchestrator.run(plan)
    await speak(journal, suspended.run_id, StopRequested())
    await decide(journal, suspended.run_id, suspended.waiting[0].id, "approve")
    answer = await stage.orchestrator.resume(suspended.run_id)

    assert isinstance(answer.steps["b"], Skipped)
    assert 1 == sum(isinstance(each.event, RunSuspended) for each in await journal.read(suspended.run_id))


async def test_a_run_that_has_ended_is_not_stopped() -> None:
    """Nothing is written down."""
    stage = Stage(plan_of(Step(id="a", task="a")))
    async with stage.orchestrator.open(stage.plan) as run:
        await run.answer()
        before = len(await stage.journal.read(run.id))
        await run.stop()
        assert before == len(await stage.journal.read(run.id))


async def test_a_word_to_no_run() -> None:
    """Begins none."""
    journal = MemoryJournal()
    with pytest.raises(UnknownRun):
        await speak(journal, "nope", StopRequested())

    assert () == await journal.runs()
