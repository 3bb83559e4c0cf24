"""Random plans with random faults, cut at a random Fact and resumed: what must hold for every run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator import Answer, MemoryJournal, Orchestrator
from orchestrator.events.recorded import Recorded
from planner import AnyStep, Draft, MapStep, Plan, PlanStep, Step, ToolStep
from planner.identity import fellows, step_digests
from planner.results import Failed, Skipped, Succeeded
from registry.errors import Unreachable
from registry.messages import Reply, Request
from registry.testing import ScriptedModel, asks_many
from registry.tools.function import tool
from tests.backends import VirtualClockLoop
from tests.scenario import journal_of, ports

Trouble = Literal["none", "model", "tool", "slow"]
TROUBLES = st.sampled_from(["none", "none", "none", "model", "tool", "slow"])


@dataclass(frozen=True)
class Sketch:
    """One random step: what it needs, what it does, what goes wrong in it, and what that means to others.

    `inside` are the troubles of the items of a map, or of the steps of a plan, whichever the step is. `looks` says what its
    condition asks of the first step that it needs. `repeats` is the step whose work it does once more, if it can be.
    """

    needs: tuple[int, ...]
    kind: Literal["agent", "tool", "map", "plan"]
    trouble: Trouble
    inside: tuple[Trouble, ...]
    looks: Literal["", "succeeded", "failed", "skipped", "output"]
    on_failure: Literal["skip_dependents", "continue", "stop", "replan"]
    on_item_failure: Literal["fail", "skip", "collect"]
    optional: bool
    width: int | None
    retries: int
    repeats: int | None


@st.composite
def sketches(draw: st.DrawFn) -> tuple[Sketch, ...]:
    size = draw(st.integers(1, 8))
    return tuple(
        Sketch(
            needs=tuple(draw(st.sets(st.integers(0, place - 1), max_size=3))) if place else (),
            kind=draw(st.sampled_from(["agent", "tool", "map", "plan"])),
            trouble=draw(TROUBLES),
            inside=tuple(draw(st.lists(TROUBLES, max_size=3))),
            looks=draw(st.sampled_from(["", "", "", "succeeded", "failed", "skipped", "output"])),
            on_failure=draw(st.sampled_from(["skip_dependents", "skip_dependents", "continue", "stop", "replan"])),
            on_item_failure=draw(st.sampled_from(["fail", "skip", "collect"])),
            optional=draw(st.booleans()),
            width=draw(st.sampled_from([None, 1, 2])),
            retries=draw(st.sampled_from([0, 0, 1])),
            repeats=draw(st.none() | st.integers(0, place - 1)) if place else None,
        )
        for place in range(size)
    )


def plan_of(drawn: Sequence[Sketch]) -> Plan:
    steps = [step_of(place, sketch) for place, sketch in enumerate(drawn)]
    for place, sketch in enumerate(drawn):
        if sketch.repeats is not None:
            before = steps[sketch.repeats].model_dump(exclude={"id", "on_failure", "optional", "width"})
            steps[place] = type(steps[sketch.repeats])(**before, id=f"s{place}", on_failure=sketch.on_failure)
    return Plan(goal="anything", steps=steps)


def step_of(place: int, sketch: Sketch) -> AnyStep:
    name = f"s{place}"
    shared = {
        "id": name,
        "depends_on": tuple(f"s{need}" for need in sketch.needs),
        "when": condition_of(sketch),
        "on_failure": sketch.on_failure,
        "optional": sketch.optional,
    }
    match sketch.kind:
        case "tool":
            return tool_step(name, sketch.trouble, retries=sketch.retries, **shared)
        case "agent":
            return agent_step(name, sketch.trouble, retries=sketch.retries, **shared)
        case "map":
            items = [{"name": f"{name}.{at}", "trouble": trouble} for at, trouble in enumerate(sketch.inside)]
            step = ToolStep(id="one", tool="work", args={"name": "${item.name}", "trouble": "${item.trouble}"}, timeout=10)
            return MapStep(over=items, step=step, width=sketch.width, on_item_failure=sketch.on_item_failure, **shared)
        case "plan":
            return PlanStep(plan=inner_plan(name, sketch), **shared)


def inner_plan(name: str, sketch: Sketch) -> Draft:
    """A chain of an agent, a map and tool calls, as long as there are troubles inside."""
    steps: list[AnyStep] = [agent_step(f"{name}x", sketch.trouble, id="x")]
    for at, trouble in enumerate(sketch.inside):
        args = {"name": f"{name}.{at}", "trouble": trouble, "after": f"${{steps.{steps[-1].id}.status}}"}
        steps.append(ToolStep(id=f"y{at}", tool="work", args=args, timeout=10))
    each = ToolStep(id="one", tool="work", args={"name": f"{name}z${{item}}", "trouble": "none"}, depends_on=())
    steps.append(MapStep(id="z", over=[1, 2], step=each, depends_on=(steps[-1].id,), width=sketch.width))
    return Draft(goal="a part", steps=steps)


def condition_of(sketch: Sketch) -> str | None:
    if not sketch.needs or not sketch.looks:
        return None
    looked = f"steps.s{sketch.needs[0]}"
    return f"'worked' in ${{{looked}.output}}" if sketch.looks == "output" else f"${{{looked}.status}} == '{sketch.looks}'"


def tool_step(name: str, trouble: Trouble, **fields: object) -> ToolStep:
    return ToolStep(tool="work", args={"name": name, "trouble": trouble}, timeout=10, **fields)


def agent_step(name: str, trouble: Trouble, **fields: object) -> Step:
    return Step(task=f"{name} {trouble}", tools=("work", "note"), timeout=10, **fields)


@tool(effect="pure")
async def work(name: str, trouble: str, after: str = "") -> str:
    """Work, or fail at it."""
    await anyio.sleep(100 if trouble == "slow" else 1)
    if trouble == "tool":
        raise ValueError("broken")
    return f"{name} worked"


@tool(effect="keyed")
async def note(name: str) -> str:
    """Note something down."""
    return f"{name} noted"


def reply(request: Request) -> Reply | str | Unreachable:
    """Decided by the request alone: two tool calls, then a conclusion, unless the model is the trouble."""
    if not request.tools:
        return "the answer"
    name, trouble = request.messages[1].text.split("\n", 1)[0].split(" ")
    if trouble == "model":
        return Unreachable("the model", "a storm")
    if request.messages[-1].role == "tool":
        return f"{name} concludes"
    return asks_many(("work", {"name": name, "trouble": trouble}), ("note", {"name": name}))


def orchestrator(journal: MemoryJournal) -> Orchestrator:
    return Orchestrator(ScriptedModel(reply), tools=[work, note], journal=journal, ports=ports())


async def lived(plan: Plan) -> tuple[Answer, tuple[Recorded, ...]]:
    journal = MemoryJournal()
    answer = await orchestrator(journal).run(plan)
    return answer, await journal.read(answer.run_id)


async def resumed(facts: Sequence[Recorded], run: str) -> tuple[Answer, tuple[Recorded, ...]]:
    journal = await journal_of(run, facts)
    answer = await orchestrator(journal).resume(run)
    return answer, await journal.read(run)


def in_no_time(main: partial[object]) -> object:
    return anyio.run(main, backend_options={"loop_factory": VirtualClockLoop})


def kept(facts: Sequence[Recorded], *kinds: str) -> Counter[str]:
    """How often each key or step was written down in an event of these kinds."""
    return Counter(
        getattr(recorded.event, "key", "") or getattr(recorded.event, "scope", "")
        for recorded in facts
        if recorded.event.kind in kinds
    )


def lacks(plan: Plan, answer: Answer) -> bool:
    """Whether something lacks that the plan can't do without, or nothing was done at all."""
    ends = answer.steps.values()
    open_ends = (end for end in ends if isinstance(end, Failed) or (isinstance(end, Skipped) and not end.untaken))
    return any(not plan.step(end.step).optional for end in open_ends) or not any(isinstance(end, Succeeded) for end in ends)


@pytest.mark.timeout(240)
@settings(max_examples=150)
@given(sketches(), st.floats(0, 1))
def test_whatever_happens(drawn: tuple[Sketch, ...], where: float) -> None:
    """Every step ends once and after its dependencies, the same work is begun once, and a run that was cut anywhere ends as the
    whole one did."""
    plan = plan_of(drawn)
    answer, facts = in_no_time(partial(lived, plan))

    assert [step.id for step in plan.steps] == list(answer.steps)
    assert {1} >= set(kept(facts, "step_started").values())
    assert {1} == set(kept(facts, "step_ended").values())
    begun: set[str] = set()
    ended: set[str] = set()
    for recorded in facts:
        if recorded.event.kind == "step_started":
            name = recorded.event.step
            assert name in answer.steps or owner(name) in begun - ended
            assert name not in answer.steps or set(plan.step(name).depends_on) <= ended
            begun.add(name)
        elif recorded.event.kind == "step_ended":
            ended.add(recorded.event.result.step)
    undecided = {name for name, end in answer.steps.items() if isinstance(end, Failed) and end.error == "BrokenReference"}
    repeated = fellows(step_digests(plan, {}))
    assert not repeated.keys() & begun
    assert all(answer.steps[name].kind in ("skipped", answer.steps[first].kind) for name, first in repeated.items())
    assert begun & answer.steps.keys() == {
        name for name, end in answer.steps.items() if name not in undecided | repeated.keys() and not isinstance(end, Skipped)
    }
    assert ("missing" if lacks(plan, answer) else "achieved") == answer.outcome

    cut = facts[: 1 + int(where * (len(facts) - 1))]
    again, rest = in_no_time(partial(resumed, cut, answer.run_id))

    assert {1} >= set(kept(rest, "model_replied", "tool_ended", "step_ended").values())
    if any(isinstance(end, Failed) and plan.step(name).policy in ("stop", "replan") for name, end in answer.steps.items()):
        return  # what else had begun when the plan was stopped is a matter of time, and a resumed run has another
    assert (answer.output, answer.outcome) == (again.output, again.outcome)
    assert {name: end.kind for name, end in answer.steps.items()} == {name: end.kind for name, end in again.steps.items()}


def owner(name: str) -> str:
    """The step that one inside it is a part of."""
    return name.rpartition("/")[0] if "/" in name.rpartition("[")[2] or "[" not in name else name.rpartition("[")[0]
