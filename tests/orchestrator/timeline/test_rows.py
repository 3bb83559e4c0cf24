"""The timeline of a run."""

from datetime import UTC, datetime
from itertools import pairwise

import anyio
import pytest
from msgspec.structs import replace

from orchestrator import MemoryJournal, Orchestrator
from orchestrator.answering import decide
from orchestrator.events.facts import Answered
from orchestrator.timeline.rows import timeline
from planner import Draft, Plan, Step
from planner.plan import ApprovalStep, MapStep, PlanStep
from registry.calls import Call
from registry.governor.governor import GovernedModel, Governor
from registry.messages import Reply, Request
from registry.testing import ScriptedModel
from tests.orchestrator.timeline.telling import (
    INTERRUPTED,
    ends,
    fails,
    pauses,
    plan,
    ready,
    skips,
    starts,
    told,
    waits,
)
from tests.scenario import ports

DIAMOND = ready(plan(a="", b="a", c="a", d="bc"))


def test_a_row_for_each_step() -> None:
    """In plan order, with what it took, its slack, and whether it is on the critical path."""
    found = timeline(
        told(
            (1, DIAMOND),
            (1, starts("a", task="do a")),
            (2, ends("a")),
            (2, starts("b")),
            (2, starts("c")),
            (4, ends("b")),
            (7, ends("c")),
            (7, starts("d")),
            (8, ends("d")),
        )
    )

    assert [("a", 1, 0, True), ("b", 2, 3, False), ("c", 5, 0, True), ("d", 1, 0, True)] == [
        (row.step, row.took, row.slack, row.critical) for row in found.rows
    ]
    assert "do a" == found.rows[0].task
    assert (8, 0, 9, ("a", "c", "d"), 7) == (found.wall, found.away, found.step_seconds, found.path, found.path_seconds)
    assert pytest.approx(9 / 8) == found.parallelism


def test_a_step_queues_from_the_moment_when_it_could_have_begun() -> None:
    """Since its plan was ready, or the last step that it needs had ended, as far as somebody was there."""
    found = timeline(
        told(
            (1, DIAMOND),
            (3, starts("a")),
            (4, ends("a")),
            (6, starts("b")),
            (7, ends("b")),
            (8, INTERRUPTED),
            (10, starts("c")),
            (11, ends("c")),
        )
    )

    stretches = {row.step: [tuple(each) for each in row.stretches] for row in found.rows}
    assert [("queued", 1, 3), ("running", 3, 4)] == stretches["a"]
    assert [("queued", 4, 6), ("running", 6, 7)] == stretches["b"]
    assert [("queued", 4, 8), ("away", 8, 10), ("running", 10, 11)] == stretches["c"]
    assert [] == stretches["d"]


def test_a_failed_run() -> None:
    """What failed has its time, what was skipped because of it has none, and no slack to speak of."""
    found = timeline(told((1, DIAMOND), (1, starts("a")), (3, fails("a")), (3, skips("b")), (3, skips("c")), (3, skips("d"))))

    assert [("failed", 0.0), ("skipped", None), ("skipped", None), ("skipped", None)] == [
        (row.end, row.slack) for row in found.rows
    ]
    assert (("a",), 2.0) == (found.path, found.path_seconds)


def test_people_are_on_the_path_and_not_in_the_step_time() -> None:
    """That somebody took long to answer is why the run took long, and not what its steps took."""
    yes = Answered(waiting=waits("a").id, key="k", decision="approve")
    found = timeline(told((0, ready(plan(a="", b=""))), (0, starts("a")), (1, pauses("a")), (8, yes), (9, ends("a"))))

    assert (2.0, 9.0, ("a",)) == (found.step_seconds, found.path_seconds, found.path)


def test_what_consists_of_others_takes_no_time_beside_theirs() -> None:
    """A map is as critical as its slowest item, and its items stand behind it."""
    made = Plan(
        goal="g", steps=[MapStep(id="m", over=[1, 2], step=Step(id="i", task="i")), Step(id="z", task="z", depends_on=["m"])]
    )
    found = timeline(
        told(
            (0, ready(made)),
            (0, starts("m", kind="map")),
            (0, starts("m[0]")),
            (0, starts("m[1]")),
            (2, ends("m[0]")),
            (5, ends("m[1]")),
            (5, ends("m")),
            (5, starts("z")),
            (6, ends("z")),
        )
    )

    assert [("m", 0, True), ("m[0]", 1, False), ("m[1]", 1, True), ("z", 0, True)] == [
        (row.step, row.depth, row.critical) for row in found.rows
    ]
    assert (("m[1]", "z"), 6.0, 8.0) == (found.path, found.path_seconds, found.step_seconds)


def test_time_when_nobody_worked_does_not_count() -> None:
    """A run that lay for an hour is no slower for that."""
    found = timeline(told((0, DIAMOND), (0, starts("a")), (2, INTERRUPTED), (3602, ends("a", seconds=2))))

    assert (3602, 3598, 4.0) == (found.wall, found.away, found.step_seconds)
    assert 1.0 == found.parallelism


def test_a_run_under_way() -> None:
    """Its steps run until now; one without a Fact has taken no time."""
    assert 5.0 == timeline(told((0, DIAMOND), (1, starts("a"))), now=1_006.0).rows[0].took
    assert ((), 0.0) == (timeline([]).rows, timeline([]).parallelism)


class Slow(ScriptedModel):
    """Takes two seconds for everything."""

    async def chat(self, request: Request, call: Call) -> Reply:
        await anyio.sleep(2)
        return await super().chat(request, call)


@pytest.mark.anyio
async def test_a_run_that_was_lived() -> None:
    """A real run of several lives: each step ran as long as its result says, one stretch after another, on its own row."""
    began = anyio.current_time()
    clock = replace(ports(), now=lambda: datetime.fromtimestamp(anyio.current_time() - began + 1e6, UTC))
    journal, inner = MemoryJournal(), [Step(id="x", task="x", tools=()), Step(id="y", task="y", tools=(), depends_on=["x"])]
    made = Plan(
        goal="g",
        steps=[
            MapStep(id="m", over=["u", "v", "w"], step=Step(id="i", task="see ${item}", tools=())),
            PlanStep(id="p", depends_on=["m"], plan=Draft(goal="h", steps=inner)),
            ApprovalStep(id="ok", question="?", depends_on=["p"]),
            Step(id="z", task="z", tools=(), depends_on=["ok"]),
        ],
        output="${steps.z.output}",
    )
    model = GovernedModel(Slow(lambda _: "done"), Governor("e", 2))
    orchestrator = Orchestrator(model, journal=journal, ports=clock)
    async with orchestrator.open(made) as run:
        await anyio.sleep(5)  # p/x has begun, and is cut off after a second
    await anyio.sleep(100)
    answer = await orchestrator.resume(run.id)
    await anyio.sleep(50)
    await decide(journal, run.id, answer.waiting[0].id, "approve", ports=clock)
    await anyio.sleep(10)
    await orchestrator.resume(run.id)

    found = timeline(await journal.read(run.id))
    assert ["m", "m[0]", "m[1]", "m[2]", "p", "p/x", "p/y", "ok", "z"] == [row.step for row in found.rows]
    assert {"succeeded"} == {row.end for row in found.rows}
    for row in found.rows:
        for before, after in pairwise(row.stretches):
            assert before.end <= after.begin
    took = {row.step: round(row.took, 1) for row in found.rows}
    assert {"m[0]": 2, "m[1]": 2, "m[2]": 2, "p/x": 3, "p/y": 2, "z": 2}.items() <= took.items()
    assert 50 == pytest.approx(sum(each.seconds for each in found.rows[7].stretches if each.state == "person"), abs=0.1)
    assert ("p/x", "p/y", "ok", "z") == found.path[1:]
    assert 171 == pytest.approx(found.wall, abs=0.1)
