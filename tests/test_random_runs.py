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
from planner import AnyStep, Plan, Step, ToolStep
from planner.results import Failed, Skipped, Succeeded
from registry.errors import Unreachable
from registry.messages import Reply, Request
from registry.testing import ScriptedModel, asks_many
from registry.tools.function import tool
from tests.backends import VirtualClockLoop
from tests.scenario import journal_of, ports

Trouble = Literal["none", "model", "tool", "slow"]


@dataclass(frozen=True)
class Sketch:
    """One random step: what it needs, what it does, what goes wrong in it, and what that means to others."""

    needs: tuple[int, ...]
    kind: Literal["agent", "tool"]
    trouble: Trouble
    on_failure: Literal["skip_dependents", "continue", "stop"]


@st.composite
def sketches(draw: st.DrawFn) -> tuple[Sketch, ...]:
    size = draw(st.integers(1, 8))
    return tuple(
        Sketch(
            needs=tuple(draw(st.sets(st.integers(0, place - 1), max_size=3))) if place else (),
            kind=draw(st.sampled_from(["agent", "tool"])),
            trouble=draw(st.sampled_from(["none", "none", "none", "model", "tool", "slow"])),
            on_failure=draw(st.sampled_from(["skip_dependents", "skip_dependents", "continue", "stop"])),
        )
        for place in range(size)
    )


def plan_of(drawn: Sequence[Sketch]) -> Plan:
    return Plan(goal="anything", steps=[step_of(place, sketch) for place, sketch in enumerate(drawn)])


def step_of(place: int, sketch: Sketch) -> AnyStep:
    shared = {
        "id": f"s{place}",
        "depends_on": tuple(f"s{need}" for need in sketch.needs),
        "on_failure": sketch.on_failure,
        "timeout": 10,
    }
    if sketch.kind == "tool":
        return ToolStep(tool="work", args={"name": f"s{place}", "trouble": sketch.trouble}, **shared)
    return Step(task=f"s{place} {sketch.trouble}", tools=("work", "note"), **shared)


@tool(effect="pure")
async def work(name: str, trouble: str) -> str:
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


@pytest.mark.timeout(120)
@settings(max_examples=150)
@given(sketches(), st.floats(0, 1))
def test_whatever_happens(drawn: tuple[Sketch, ...], where: float) -> None:
    """Every step ends once and after its dependencies, and a run that was cut anywhere ends as the whole one did."""
    plan = plan_of(drawn)
    answer, facts = in_no_time(partial(lived, plan))

    assert [step.id for step in plan.steps] == list(answer.steps)
    assert {1} == set(kept(facts, "step_ended").values())
    begun: set[str] = set()
    ended: set[str] = set()
    for recorded in facts:
        if recorded.event.kind == "step_started":
            assert set(plan.step(recorded.event.step).depends_on) <= ended
            begun.add(recorded.event.step)
        elif recorded.event.kind == "step_ended":
            ended.add(recorded.event.result.step)
    assert begun == {step for step, result in answer.steps.items() if not isinstance(result, Skipped)}
    failed = any(isinstance(result, Failed | Skipped) for result in answer.steps.values())
    assert ("missing" if failed else "achieved") == answer.outcome
    assert all(isinstance(result, Succeeded | Failed | Skipped) for result in answer.steps.values())

    cut = facts[: 1 + int(where * (len(facts) - 1))]
    again, rest = in_no_time(partial(resumed, cut, answer.run_id))

    assert {1} >= set(kept(rest, "model_replied", "tool_ended", "step_ended").values())
    if any(isinstance(result, Failed) and plan.step(step).on_failure == "stop" for step, result in answer.steps.items()):
        return  # what else had begun when the plan was stopped is a matter of time, and a resumed run has another
    assert (answer.output, answer.outcome) == (again.output, again.outcome)
    assert {step: result.kind for step, result in answer.steps.items()} == {
        step: result.kind for step, result in again.steps.items()
    }
