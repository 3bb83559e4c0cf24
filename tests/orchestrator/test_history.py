"""What earlier runs say of how long steps take, and what comes of it."""

from collections.abc import Iterable, Mapping

import anyio
import pytest

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.answering import decide
from orchestrator.events.facts import PlanReady, StepEnded
from orchestrator.history import history, named_by, scopes_of
from orchestrator.journal.protocol import Journal
from planner import Draft, Plan, Step
from planner.past import Past, Took
from planner.plan import ApprovalStep, MapStep, PlanStep, ToolStep
from registry.calls import Call
from registry.governor.governor import GovernedModel, Governor
from registry.messages import Reply, Request
from registry.models.model import Model
from registry.models.registry import ModelRegistry
from registry.testing import ScriptedModel
from registry.tools.function import tool
from tests.scenario import ports

pytestmark = pytest.mark.anyio

WORLD = ports()
SECONDS = {"a": 1.0, "b": 2.0, "c": 3.0}


class Slow(ScriptedModel):
    """Takes so many seconds for a step."""

    def __init__(self, seconds: Mapping[str, float] = SECONDS) -> None:
        super().__init__(lambda _: "done")
        self._seconds = seconds

    async def chat(self, request: Request, call: Call) -> Reply:
        await anyio.sleep(self._seconds.get(call.label, 0.0))
        return await super().chat(request, call)


@tool(effect="pure")
async def nap(seconds: float) -> str:
    """Sleep."""
    await anyio.sleep(seconds)
    return "awake"


@tool(effect="unkeyed", requires_approval=True)
async def send() -> str:
    """Send it."""
    await anyio.sleep(5)
    return "sent"


def agents(*names: str) -> Plan:
    steps = [Step(id=name, task=f"do {name}", tools=()) for name in names]
    return Plan(goal="g", steps=steps, output=f"${{steps.{names[-1]}.output}}")


def orchestrator(model: Model, journal: Journal) -> Orchestrator:
    return Orchestrator(model, tools=[nap, send], journal=journal, ports=WORLD)


async def past(journal: Journal, run: str) -> Past:
    """What the run was told of earlier ones."""
    (ready,) = [each.event for each in await journal.read(run) if isinstance(each.event, PlanReady)]
    return {key: Took(**{name: round(getattr(took, name), 2) for name in Took.__slots__}) for key, took in ready.past.items()}


def once(seconds: float) -> Took:
    return Took(low=seconds, likely=seconds, high=seconds, times=1)


async def test_the_next_run_knows_how_long_it_took() -> None:
    """The first run knows nothing; the next one knows each step by its content, and all of them as steps of that model."""
    journal = MemoryJournal()
    plan = agents("a", "b", "c")
    first = await orchestrator(Slow(), journal).run(plan)
    second = await orchestrator(Slow(), journal).run(plan)
    scopes = scopes_of(plan, {})

    assert {} == await past(journal, first.run_id)
    assert {
        scopes["a"]: once(1.0),
        scopes["b"]: once(2.0),
        scopes["c"]: once(3.0),
        "agent/scripted": Took(low=1.2, likely=2.0, high=2.8, times=3),
    } == await past(journal, second.run_id)


async def test_queueing_is_not_counted() -> None:
    """Behind one slot, each step took what it took, and not what it waited for the others."""
    journal = MemoryJournal()
    plan = agents("a", "b", "c")
    await orchestrator(GovernedModel(Slow(), Governor("e", 1)), journal).run(plan)

    known = await past(journal, (await orchestrator(Slow(), journal).run(plan)).run_id)
    assert [1.0, 2.0, 3.0] == [known[scope].likely for scope in scopes_of(plan, {}).values()]


async def test_what_took_longest_goes_first() -> None:
    """Of steps that wait for one slot, those go first that took longest before; and when nothing is known, in plan order."""
    journal = MemoryJournal()
    for expected in ("a", "b", "c"), ("c", "b", "a"):
        model = Slow()
        await orchestrator(GovernedModel(model, Governor("e", 1)), journal).run(agents("a", "b", "c"))

        assert expected == tuple(call.label for call in model.calls)


async def test_parts_go_by_what_they_are_like() -> None:
    """Items of maps and steps of plans inside are weighed as well: the one whose tool takes long goes first."""
    journal = MemoryJournal()
    inside = [ToolStep(id="quick", tool="nap", args={"seconds": 0}), Step(id="slow", task="slow", tools=())]
    plan = Plan(goal="g", steps=[PlanStep(id="p", plan=Draft(goal="h", steps=inside))], output="${steps.p.output}")
    for expected in ("p/slow", "p/quick"), ("p/quick", "p/slow"):  # a model takes longer than a tool, until we know better
        answer = await orchestrator(Slow({"p/slow": 0.001}), journal).run(plan)

        started = [each.event.step for each in await journal.read(answer.run_id) if each.event.kind == "step_started"]
        assert ["p", *expected] == started
        plan = plan.model_copy(update={"goal": "another"})
        await orchestrator(Slow(), journal).run(
            Plan(goal="g", steps=[ToolStep(id="n", tool="nap", args={"seconds": 9})], output="${steps.n.output}")
        )


async def test_waiting_for_people_is_not_counted() -> None:
    """A step that was held up says nothing of how long such steps take."""
    journal = MemoryJournal()
    plan = Plan(
        goal="g",
        steps=[
            ToolStep(id="s", tool="send"),
            ApprovalStep(id="ask", question="?"),
            ToolStep(id="n", tool="nap", args={"seconds": 1}),
        ],
        output="${steps.s.output}",
    )
    runner = orchestrator(Slow(), journal)
    answer = await runner.run(plan)
    for waiting in answer.waiting:
        await decide(journal, answer.run_id, waiting.id, "approve", ports=WORLD)
    await runner.resume(answer.run_id)

    ends = [each.event for each in await journal.read(answer.run_id) if isinstance(each.event, StepEnded)]
    assert {"s": "", "ask": "", "n": "tool/nap"} == {end.result.step: end.like for end in ends}


async def test_a_resumed_run_asks_no_more() -> None:
    """What it was told when its plan was ready holds for all its lives, whatever has been learnt since."""

    class Asked(MemoryJournal):
        times = 0

        async def durations(self, keys: Iterable[str], *, prefix: str = "") -> Mapping[str, tuple[float, ...]]:
            self.times += 1
            return await super().durations(keys, prefix=prefix)

    journal, plan = Asked(), agents("a", "b", "c")
    await orchestrator(Slow(), journal).run(plan)
    async with orchestrator(Slow(), journal).open(plan) as run:
        async for recorded in run.events:
            if recorded.event.kind == "plan_ready":
                break
    told = await past(journal, run.id)
    await orchestrator(Slow({"a": 100.0}), journal).run(plan)
    model = Slow()
    await orchestrator(GovernedModel(model, Governor("e", 1)), journal).resume(run.id)

    assert 3 == journal.times
    assert told == await past(journal, run.id)
    assert ["c", "b", "a"] == [call.label for call in model.calls]


async def test_what_is_asked_after() -> None:
    """Every step by its content, and each likeness once, those of steps inside others too."""
    asked: list[str] = []

    class Curious(MemoryJournal):
        async def durations(self, keys: Iterable[str], *, prefix: str = "") -> Mapping[str, tuple[float, ...]]:
            asked.extend(keys)
            return {}

    inner = Draft(goal="h", steps=[Step(id="x", task="x"), ToolStep(id="y", tool="t")])
    plan = Draft(
        goal="g",
        steps=[
            Step(id="a", task="a", model_hint="large"),
            MapStep(id="m", over=[1], step=ToolStep(id="i", tool="u")),
            PlanStep(id="p", plan=inner),
        ],
    )
    named = named_by(ModelRegistry([ScriptedModel(["hi"], name="small"), ScriptedModel(["hi"], name="large")]))

    assert {} == await history(Curious(), plan, {}, named)
    assert [*scopes_of(plan, {}).values(), "agent/large", "tool/u", "agent/small", "tool/t"] == asked
