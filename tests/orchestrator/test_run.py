"""A run that is followed, interrupted, left early, cancelled, and taken up again."""

from collections.abc import AsyncGenerator

import anyio
import anyio.lowlevel
import pytest

from orchestrator import MemoryJournal, Orchestrator, Run
from orchestrator.answering import cancel
from orchestrator.errors import LeaseLost, RunCancelled, RunError, RunHeld
from orchestrator.events.facts import CancelRequested
from orchestrator.events.recorded import Recorded
from orchestrator.journal.memory import MemoryWriter
from orchestrator.journal.protocol import WHOLE_RUN, WORD, Journal
from orchestrator.run import Answer
from planner import PlanError
from registry.calls import Call
from registry.errors import Unreachable
from registry.messages import Piece, Reply, Request
from registry.models.layer import ModelLayer
from registry.testing import ScriptedModel, asks_many
from registry.tools.function import tool
from tests.orchestrator.parts import judged, part_of, planned, played
from tests.scenario import GOAL, World, ports

pytestmark = pytest.mark.anyio


class Unstreamed(ModelLayer):
    """A layer around `chat` alone."""

    def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        return self._inner.stream_chat(request, call)


class Slow(Unstreamed):
    """A second for each reply that is not streamed."""

    async def chat(self, request: Request, call: Call) -> Reply:
        await anyio.sleep(1)
        return await self._inner.chat(request, call)


def small(journal: Journal | None = None, step: str = "found x") -> Orchestrator:
    """A run of one step, with a second for plan, step and verdict each."""
    model = played(plan=[planned("x")], step=[step], verdict=[judged(True)], synthesis=["It is x."])
    return Orchestrator(Slow(model), journal=journal, ports=ports())


async def told(run: Run) -> list[Recorded]:
    return [recorded async for recorded in run.events]


def kinds(facts: list[Recorded] | tuple[Recorded, ...]) -> list[str]:
    return [recorded.event.kind for recorded in facts if recorded.seq is not None]


def gist(answer: Answer) -> tuple[object, ...]:
    """What an answer comes to, whatever time it took."""
    return (
        answer.output,
        answer.outcome,
        {step: (result.kind, getattr(result, "output", "")) for step, result in answer.steps.items()},
    )


async def test_leaving_early_interrupts_the_run() -> None:
    """Whoever leaves the block ends it: it is written down, nothing goes on, and the run can be resumed to the same answer."""
    whole = await World().orchestrator(MemoryJournal()).run(GOAL)
    journal, world = MemoryJournal(), World()
    async with world.orchestrator(journal).open(GOAL) as run:
        async for recorded in run.events:
            if recorded.event.kind == "tool_ended":
                break
    facts = await journal.read(run.id)
    await anyio.sleep(100)

    assert "run_interrupted" == kinds(facts)[-1]
    assert facts == await journal.read(run.id)
    resumed = await world.orchestrator(journal).resume(run.id)
    assert gist(whole) == gist(resumed)


async def test_an_interrupted_run_has_no_answer() -> None:
    """Who asks for it afterwards is told that it can be resumed."""
    async with World().orchestrator(MemoryJournal()).open(GOAL) as run:
        pass

    with pytest.raises(RunError, match="run 'run1' was interrupted; it can be resumed"):
        await run.answer()


async def test_an_error_in_the_block_comes_out_as_itself() -> None:
    """Not in a group: callers catch what they raised. The run is interrupted."""
    journal = MemoryJournal()
    mine = KeyError("mine")
    with pytest.raises(KeyError) as raised:
        async with World().orchestrator(journal).open(GOAL):
            raise mine

    assert mine is raised.value
    assert "run_interrupted" == kinds(await journal.read("run1"))[-1]


async def test_the_error_of_a_run_comes_out_of_its_answer() -> None:
    """`open` itself does not raise it: the block goes on, and may look at the events."""
    journal = MemoryJournal()
    model = ScriptedModel(lambda request: Unreachable("m", "down"))
    async with Orchestrator(model, journal=journal, ports=ports()).open("the goal") as run:
        events = await told(run)
        for _ in range(2):
            with pytest.raises(Unreachable, match="down"):
                await run.answer()

    assert ["run_started", "phase_began", "model_failed", "run_ended"] == kinds(events) == kinds(await journal.read(run.id))


@pytest.mark.parametrize("part", ["plan", "step", "verdict", "synthesis"])
async def test_our_own_bugs_are_loud(part: str) -> None:
    """An error that nobody foresaw ends the run as itself, wherever it happens, and is no end for good."""
    well = {"plan": planned("x", "y"), "step": "found x", "verdict": judged(True), "synthesis": "It is x."}

    def script(request: Request) -> Reply | str:
        if part_of(request) == part:
            raise ZeroDivisionError
        return well[part_of(request)]

    journal = MemoryJournal()
    with pytest.raises(ZeroDivisionError):
        await Orchestrator(ScriptedModel(script), journal=journal, ports=ports()).run("the goal")

    assert "run_interrupted" == kinds(await journal.read("run1"))[-1]
    answer = await small(journal).resume("run1") if part == "plan" else None
    assert answer is None or "achieved" == answer.outcome


async def test_watchers_end_with_a_bug() -> None:
    """A watcher is not left waiting for a run that a bug has ended."""

    def script(request: Request) -> str:
        raise ZeroDivisionError

    heard: list[str] = []

    async def watch() -> None:
        async with Orchestrator(ScriptedModel(script), ports=ports()).open("the goal") as run:
            heard.extend(kinds(await told(run)))
            await run.answer()

    with pytest.raises(ZeroDivisionError):
        await watch()

    assert ["run_started", "phase_began"] == heard[:2]


async def test_the_events_of_a_finished_run_can_be_read_again() -> None:
    """In the block, after it, and in a later life: the same Facts in the same order."""
    journal = MemoryJournal()
    async with World().orchestrator(journal).open(GOAL) as run:
        first = await told(run)
        await run.answer()
        second = await told(run)
    third = await told(run)
    async with World().orchestrator(journal).open_again(run.id) as again:
        fourth = await told(again)

    assert first == second == third
    assert [recorded for recorded in first if recorded.seq is not None] == [each for each in fourth if each.seq is not None]


async def test_two_watchers_one_of_them_slow() -> None:
    """Both read everything in the same order, and the run takes no longer for the slow one."""
    whole: dict[str, list[Recorded]] = {}

    async def watch(name: str, run: Run, pause: float) -> None:
        whole[name] = []
        async for recorded in run.events:
            whole[name].append(recorded)
            await anyio.sleep(pause)

    async with anyio.create_task_group() as group, World().orchestrator(MemoryJournal()).open(GOAL) as run:
        group.start_soon(watch, "fast", run, 0)
        group.start_soon(watch, "slow", run, 60)
        began = anyio.current_time()
        await run.answer()
        assert anyio.current_time() - began < 10

    assert whole["fast"] == whole["slow"]
    assert "run_ended" == kinds(whole["slow"])[-1]


async def test_an_interrupt_reaches_every_agent_at_work() -> None:
    """Two steps side by side both hear it before they conclude."""
    heard: list[str] = []

    def step(request: Request) -> str:
        last = request.messages[-1].text
        if last.startswith("[USER INTERRUPT]"):
            heard.append(last)
            return "bien sûr"
        return "of course"

    model = Slow(played(plan=[planned("x", "y")], step=step, verdict=[judged(True)], synthesis=lambda request: "Voilà."))
    async with Orchestrator(model, ports=ports()).open("the goal") as run:
        async for recorded in run.events:
            if recorded.event.kind == "step_started" and recorded.event.step == "y":
                await run.interrupt("in French, please")
        answer = await run.answer()

    assert ["[USER INTERRUPT]\nin French, please"] * 2 == heard
    assert {"bien sûr"} == {getattr(result, "output", None) for result in answer.steps.values()}


async def test_a_run_that_another_took_over_writes_no_end() -> None:
    """The one that lost it is told so; the journal has the Facts of the other one only."""
    journal = MemoryJournal()
    async with small(journal).open("the goal") as run:
        await anyio.sleep(0.5)
        answer = await small(journal).resume(run.id)
        with pytest.raises(LeaseLost, match="run 'run1' was claimed by another"):
            await run.answer()
        await told(run)

    assert "achieved" == answer.outcome
    assert ["run_ended"] == [
        kind for kind in kinds(await journal.read(run.id)) if kind.startswith("run_") and kind != "run_started"
    ]


async def test_leaving_a_run_that_another_took_over_is_quiet() -> None:
    """There is nothing left to write down: whoever holds the run writes its end, and watchers end."""
    journal = MemoryJournal()
    async with small(journal).open("the goal") as run:
        await anyio.sleep(0.5)
        await journal.claim(run.id, holder=ports().holder(), ttl=60)

    assert ["run_started", "phase_began"] == kinds(await told(run))
    with pytest.raises(LeaseLost):
        await run.answer()


async def test_cancelled_at_any_moment() -> None:
    """Nothing is left running, the interruption is written, and the next life comes to the same answer."""
    whole = await World().orchestrator(MemoryJournal()).run(GOAL)
    tasks = len(anyio.get_running_tasks())
    interrupted = 0
    for tenths in range(0, 40):
        journal, world = MemoryJournal(), World()
        with anyio.move_on_after(tenths / 10) as scope:
            await world.orchestrator(journal).run(GOAL)
        assert tasks == len(anyio.get_running_tasks())
        if not scope.cancelled_caught:
            continue
        facts = await journal.read("run1")
        interrupted += kinds(facts)[-1:] == ["run_interrupted"]
        if "run_started" in kinds(facts):
            answer = await world.orchestrator(journal).resume("run1")
            assert gist(whole) == gist(answer)
            assert 2 == len(world.logged)

    assert interrupted > 15


class Workshop:
    """Models and tools that are at work for a few checkpoints each, in runs that share one journal."""

    def __init__(self) -> None:
        self.journal = MemoryJournal()
        self.at_work: list[str] = []

    async def work(self, what: str) -> str:
        self.at_work.append(what)
        try:
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
        finally:
            self.at_work.remove(what)
        return what

    def orchestrator(self) -> Orchestrator:
        @tool(effect="pure")
        async def look(at: str) -> str:
            """Look at something."""
            return await self.work(at)

        class Busy(Unstreamed):
            async def chat(busy, request: Request, call: Call) -> Reply:
                await self.work(call.scope)
                return await busy._inner.chat(request, call)

        return Orchestrator(Busy(ScriptedModel(self.reply)), tools=[look], journal=self.journal, ports=ports())

    def reply(self, request: Request) -> Reply | str:
        match part_of(request):
            case "plan":
                return planned("x", "y", z="xy")
            case "verdict":
                return judged(True)
            case "step" if request.messages[-1].role == "user":
                return asks_many(("look", {"at": "a"}), ("look", {"at": "b"}))
            case part:
                return f"from {part}"


@pytest.mark.parametrize("checkpoints", range(1, 46))
async def test_cancelled_at_any_await(checkpoints: int) -> None:
    """Whatever await the cancellation meets, tools and models are cleaned up and the journal holds a run that can go on."""
    shop, alive = Workshop(), len(anyio.get_running_tasks())

    async def axe() -> None:
        for _ in range(checkpoints):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(axe)
        await shop.orchestrator().run("the goal")

    assert [] == shop.at_work
    assert alive == len(anyio.get_running_tasks())
    if kinds(await shop.journal.read("run1"))[:1] == ["run_started"]:
        answer = await shop.orchestrator().resume("run1")
        assert ("achieved", "from synthesis") == (answer.outcome, answer.output)
        assert {"from step"} == {getattr(result, "output", None) for result in answer.steps.values()}


# Cancelling for good


async def test_a_cancelled_run_ends_for_good() -> None:
    """What was finished stays finished, what ran ends as cancelled, nothing new starts, and it can't be resumed."""
    journal = MemoryJournal()
    async with small(journal).open("the goal") as run:
        await anyio.sleep(1.5)
        await run.cancel("enough")
        with pytest.raises(RunCancelled, match="run 'run1' was cancelled"):
            await run.answer()
        await told(run)
    facts = await journal.read(run.id)
    with pytest.raises(RunCancelled):
        await small(journal).resume(run.id)

    assert ["step_started", "cancel_requested", "step_ended", "run_ended"] == kinds(facts)[-4:]
    *_, asked, step, end = (recorded.event for recorded in facts)
    assert ("enough", "cancelled", "cancelled") == (asked.why, step.result.outcome, end.outcome)
    assert facts == await journal.read(run.id)


async def test_a_run_is_cancelled_from_another_process() -> None:
    """Whoever works on it hears of it the next time it looks into the journal, and ends it."""
    journal = Shared()
    async with small(journal).open("the goal") as run:
        await anyio.sleep(1.2)
        assert not await cancel(journal, run.id, ports=ports("another"))
        with pytest.raises(RunCancelled):
            await run.answer()

    assert ["cancel_requested", "step_ended", "run_ended"] == kinds(await journal.read(run.id))[-3:]


async def test_a_run_that_nobody_works_on_is_cancelled_at_once() -> None:
    """Its end is written by whoever cancels it; a second time nothing happens."""
    journal = MemoryJournal()
    async with small(journal).open("the goal") as run:
        await anyio.sleep(1.2)

    assert await cancel(journal, run.id)
    facts = await journal.read(run.id)
    assert await cancel(journal, run.id)

    assert ["run_interrupted", "cancel_requested", "step_ended", "run_ended"] == kinds(facts)[-4:]
    assert facts == await journal.read(run.id)


async def test_a_cancellation_that_nobody_could_hear_is_heard_on_resume() -> None:
    """A run that was asked to end while its process was gone calls no model and no tool any more."""
    journal = MemoryJournal()
    async with small(journal).open("the goal") as run:
        await anyio.sleep(1.2)
    writer = await journal.claim(run.id, holder="another", ttl=60, scope=WORD)
    await writer.append((CancelRequested(), 1.0))

    with ScriptedModel([]) as model, pytest.raises(RunCancelled):
        await Orchestrator(model, journal=journal, ports=ports()).resume(run.id)

    assert "run_ended" == kinds(await journal.read(run.id))[-1]


# Two processes


class Shared(MemoryJournal):
    """A journal that other processes write to as well: who holds a run looks into it all the time."""

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> MemoryWriter:
        writer = await super().claim(run, holder=holder, ttl=ttl, scope=scope)
        writer.glance = 0.25
        return writer


async def test_a_run_that_somebody_works_on_is_not_resumed() -> None:
    """The second one is told who has it, and the first one goes on."""
    journal = MemoryJournal()
    other = Orchestrator(ScriptedModel([]), journal=journal, ports=ports("another"))
    async with small(journal).open("the goal") as run:
        with pytest.raises(RunHeld, match="run 'run1' is already being worked on by the process"):
            await other.resume(run.id)
        answer = await run.answer()

    assert "achieved" == answer.outcome


async def test_a_claim_is_kept_for_as_long_as_the_run_is_at_work() -> None:
    """A model that thinks for ten minutes loses nothing to those who wait for the claim to run out."""
    journal = Shared()

    class Pensive(Slow):
        async def chat(self, request: Request, call: Call) -> Reply:
            await anyio.sleep(599)
            return await super().chat(request, call)

    model = Pensive(played(plan=[planned("x")], step=["found x"], verdict=[judged(True)], synthesis=["It is x."]))
    async with Orchestrator(model, journal=journal, ports=ports()).open("the goal") as run:
        await anyio.sleep(500)
        with pytest.raises(RunHeld):
            await journal.claim(run.id, holder="another", ttl=60)
        answer = await run.answer()

    assert "achieved" == answer.outcome


async def test_the_claim_is_let_go_at_the_end() -> None:
    """Another process may take up an interrupted run at once."""
    journal = MemoryJournal()
    async with small(journal).open("the goal") as run:
        pass
    writer = await journal.claim(run.id, holder="another", ttl=60)

    assert 2 == writer.epoch


# Plans that are none


async def test_a_plan_that_is_none_is_asked_for_anew_on_resume() -> None:
    """What the planner's model said is kept, with what was wrong with it, and a later life does not read it again."""
    journal = MemoryJournal()
    with pytest.raises(PlanError):
        await Orchestrator(ScriptedModel(lambda _: "no plan"), journal=journal, ports=ports()).run("the goal")
    facts = await journal.read("run1")
    answer = await small(journal).resume("run1")

    assert ["plan_rejected", "run_ended"] == kinds(facts)[-2:]
    assert facts[-2].event.diagnostics
    assert "model_replied" in kinds(facts)
    assert ("achieved", "It is x.") == (answer.outcome, answer.output)
