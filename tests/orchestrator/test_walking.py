"""Walks of plans with maps, plans inside plans, conditions and approvals: what runs, once, and in which order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count

import anyio
import pytest

from orchestrator.errors import LeaseLost
from orchestrator.events.facts import Answered, Fact, InterruptReceived, StepEnded, StepStarted
from orchestrator.events.recorded import Recorded
from orchestrator.executor import DAGExecutor, Settled, Suspended
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journal.protocol import WHOLE_RUN, Line, Writer
from orchestrator.ledger import Ledger, open_ledger, private_ledger
from orchestrator.ports import Ports
from planner import AnyStep, ApprovalStep, Draft, MapStep, Plan, PlanStep, Step, ToolStep
from planner.results import Failed, Results, Skipped, Succeeded
from registry.governor.governor import GovernedModel, Governor
from registry.messages import Json, Request
from registry.testing import ScriptedModel
from registry.tools.function import tool
from registry.tools.tool import Tool
from tests.orchestrator.parts import task

pytestmark = pytest.mark.anyio


@tool(effect="pure")
async def give(value: str | int | bool | list | dict | None = None) -> object:
    """Give back what is given."""
    return value


@tool(effect="pure")
async def work(on: Json, seconds: float = 1.0) -> str:
    """Work on something; what is called bad can't be worked on."""
    await anyio.sleep(seconds)
    if on == "bad":
        raise ValueError("too bad")
    return f"did {on}"


def done(request: Request) -> str:
    return f"{task(request)}: done"


async def walk(
    *steps: AnyStep,
    ledger: Ledger | None = None,
    model: ScriptedModel | None = None,
    tools: Iterable[Tool] = (give, work),
    attempts: Mapping[str, int] | None = None,
) -> Settled | Suspended:
    executor = DAGExecutor(model or ScriptedModel(done), tools, ledger=ledger)
    return await executor.walk(Plan(goal="test", steps=steps), attempts=attempts)


async def results(*steps: AnyStep, ledger: Ledger | None = None, model: ScriptedModel | None = None) -> Results:
    walked = await walk(*steps, ledger=ledger, model=model)
    assert isinstance(walked, Settled)
    return walked.results


def given(step_id: str, value: Json, **fields: object) -> ToolStep:
    return ToolStep(id=step_id, tool="give", args={"value": value}, **fields)


def mapped(over: Json, step_id: str = "each", **fields: object) -> MapStep:
    return MapStep(id=step_id, over=over, step=ToolStep(id="item", tool="work", args={"on": "${item}"}), **fields)


def nested(*steps: AnyStep, step_id: str = "inner", output: str | None = None, **fields: object) -> PlanStep:
    return PlanStep(id=step_id, plan=Draft(goal="a part of it", steps=steps, output=output), **fields)


def started(facts: Iterable[Recorded]) -> list[str]:
    return [recorded.event.step for recorded in facts if recorded.event.kind == "step_started"]


async def test_a_map_does_its_step_for_every_item() -> None:
    """Side by side, under stable ids; its data is the list of what they gave, in the order of the items."""
    ledger, began = await private_ledger(), anyio.current_time()
    found = await results(given("list", ["a", 2, {"k": "c"}]), mapped("${steps.list.data}"), ledger=ledger)

    assert ["list", "each", "each[0]", "each[1]", "each[2]"] == started(ledger.facts)
    assert isinstance(found["each"], Succeeded)
    assert ["did a", "did 2", "did {'k': 'c'}"] == found["each"].data
    assert 1.0 == pytest.approx(anyio.current_time() - began, abs=0.5)
    assert ["list", "each"] == list(found)


@pytest.mark.parametrize(("width", "seconds"), [(None, 1.0), (4, 1.0), (2, 2.0), (1, 4.0)])
async def test_a_width_is_kept(width: int | None, seconds: float) -> None:
    """Not more items than that are under way at once."""
    began = anyio.current_time()
    await results(mapped(["a", "b", "c", "d"], width=width))

    assert seconds == pytest.approx(anyio.current_time() - began, abs=0.5)


async def test_an_agent_for_every_item() -> None:
    """Each has a fresh agent, which reads the item where the task refers to it."""
    step = MapStep(
        id="each", over=[{"name": "Ada"}, {"name": "Bo"}], step=Step(id="i", task="Greet ${item.name} as no. ${index}")
    )
    found = await results(step)

    assert ["Greet Ada as no. 0: done", "Greet Bo as no. 1: done"] == found["each"].data
    assert 2 == found["each"].usage.requests


async def test_an_empty_list_is_a_result() -> None:
    """There was nothing to do, and what depends on the map goes on with that."""
    found = await results(mapped([]), given("sum", "${steps.each.data}"))

    assert (Succeeded, []) == (type(found["each"]), found["each"].data)
    assert [] == found["sum"].data


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param("a, b", "has 'a, b'", id="text"),
        pytest.param({"a": 1}, "has '{\"a\":1}'", id="object"),
        pytest.param(["x"] * 10_001, "one of 10,001 items", id="too long"),
    ],
)
async def test_only_lists_of_some_length_can_be_mapped(value: Json, said: str) -> None:
    """Anything else fails the map, and says what there was instead."""
    data = "${steps.list.output}" if isinstance(value, str) else "${steps.list.data}"
    found = await results(given("list", value), mapped(data))

    assert isinstance(found["each"], Failed)
    assert "NothingToMap" == found["each"].error
    assert said in found["each"].message


@pytest.mark.parametrize(
    ("policy", "items", "data"),
    [
        pytest.param("fail", ["a", "bad", "c"], None, id="fail"),
        pytest.param("skip", ["a", "bad", "c"], ["did a", "did c"], id="skip"),
        pytest.param(
            "collect",
            ["a", "bad"],
            ["did a", {"error": "ToolFailed", "message": "'work' failed: ValueError: too bad"}],
            id="collect",
        ),
        pytest.param("skip", ["bad", "bad"], None, id="skip, and all failed"),
    ],
)
async def test_the_map_says_what_a_failed_item_does(policy: str, items: list[Json], data: Json) -> None:
    """The others are done in any case."""
    ledger = await private_ledger()
    found = await results(mapped(items, on_item_failure=policy), ledger=ledger)

    assert data == getattr(found["each"], "data", None)
    assert 1 + len(items) == len(started(ledger.facts))


async def test_items_whose_condition_does_not_hold_are_left_out() -> None:
    """They are skipped, which is no failure."""
    inner = ToolStep(id="i", tool="work", args={"on": "${item}"}, when="${item} > 1")
    found = await results(MapStep(id="each", over=[1, 2, 3], step=inner))

    assert ["did 2", "did 3"] == found["each"].data


async def test_a_plan_inside_a_plan() -> None:
    """It sees its own inputs and steps alone, and gives what its output refers to."""
    inner = Draft.model_validate(
        {
            "goal": "a part of it",
            "inputs": {"what": {}},
            "steps": [
                {"id": "one", "kind": "tool", "tool": "work", "args": {"on": "${inputs.what}"}},
                {"id": "two", "kind": "tool", "tool": "work", "args": {"on": "${steps.one.output}"}},
            ],
            "output": "${steps.two.output}",
        }
    )
    ledger = await private_ledger()
    step = PlanStep(id="in", plan=inner, args={"what": "${steps.one.output}"})
    found = await results(given("one", "it"), step, given("end", "${steps.in.output}!"), ledger=ledger)

    assert ["one", "in", "in/one", "in/two", "end"] == started(ledger.facts)
    assert "did did it!" == found["end"].output


@pytest.mark.parametrize(
    ("steps", "output", "data"),
    [
        pytest.param([given("a", 1)], "1", 1, id="one"),
        pytest.param([given("a", 1), given("b", "${steps.a.data}")], "1", 1, id="a chain"),
        pytest.param([given("a", 1), given("b", "x")], "## a\n1\n\n## b\nx", {"a": 1, "b": "x"}, id="two ends"),
    ],
)
async def test_a_nested_plan_without_an_output(steps: list[AnyStep], output: str, data: Json) -> None:
    """It gives what its last steps gave."""
    found = await results(nested(*steps))

    assert (output, data) == (found["inner"].output, found["inner"].data)


async def test_a_nested_plan_fails_as_a_plan_would() -> None:
    """A step that it can't do without failed: so has the plan, which is said; an optional one may fail."""
    bad = {"on": "bad"}
    found = await results(
        nested(ToolStep(id="a", tool="work", args=bad), given("b", 1, depends_on="a"), step_id="fails"),
        nested(ToolStep(id="a", tool="work", args=bad, optional=True), given("b", 1, depends_on="a"), step_id="goes_on"),
        given("after", 1, depends_on="fails"),
    )

    assert isinstance(found["fails"], Failed)
    assert "PartsFailed" == found["fails"].error
    assert "a failed: 'work' failed: ValueError: too bad; b skipped: fails/a failed" == found["fails"].message
    assert 1 == found["goes_on"].data
    assert Skipped(step="after", because_of="fails", reason="fails failed") == found["after"]


async def test_what_stops_a_nested_plan_stops_nothing_else() -> None:
    """`on_failure: stop` inside a plan is about that plan."""
    stopping = ToolStep(id="a", tool="work", args={"on": "bad"}, on_failure="stop")
    found = await results(
        nested(stopping, given("b", 1, depends_on="c"), ToolStep(id="c", tool="work", args={"on": 1, "seconds": 9})),
        mapped(["x"], "other"),
        given("after", 2, depends_on="other"),
    )

    assert {"inner": Failed, "other": Succeeded, "after": Succeeded} == {name: type(end) for name, end in found.items()}


async def test_maps_inside_plans_inside_maps() -> None:
    """Each level sees its own item, and everything has an id of its own."""
    inner = PlanStep(
        id="x",
        args={"rows": "${item}"},
        plan=Draft.model_validate(
            {
                "goal": "a row",
                "inputs": {"rows": {}},
                "steps": [
                    {
                        "id": "cells",
                        "kind": "map",
                        "over": "${inputs.rows}",
                        "step": {"kind": "tool", "tool": "work", "args": {"on": "${item}"}},
                    }
                ],
            }
        ),
    )
    ledger = await private_ledger()
    found = await results(MapStep(id="rows", over=[["a", "b"], ["c"]], step=inner), ledger=ledger)

    assert [["did a", "did b"], ["did c"]] == found["rows"].data
    expected = {"rows", "rows[0]", "rows[1]", "rows[0]/cells", "rows[1]/cells"}
    assert expected | {"rows[0]/cells[0]", "rows[0]/cells[1]", "rows[1]/cells[0]"} == set(started(ledger.facts))


async def test_equal_items_are_done_each() -> None:
    """Two items of the same value are two items, each with a scope of its own."""
    ledger = await private_ledger()
    found = await results(mapped(["a", "a"]), ledger=ledger)
    scopes = [recorded.event.scope for recorded in ledger.facts if recorded.event.kind == "step_started"]

    assert ["did a", "did a"] == found["each"].data
    assert 3 == len(set(scopes))


ROUTE = [
    given("pick", "left"),
    given("left", "L", when="${steps.pick.output} == 'left'"),
    given("right", "R", when="${steps.pick.output} == 'right'"),
]


async def test_a_join_after_a_branch_that_was_not_taken() -> None:
    """One parent was done: that is enough. What only the other branch leads to is not done, and says why."""
    found = await results(
        *ROUTE,
        given("join", "met", depends_on=["left", "right"]),
        given("behind", "x", depends_on="right"),
        given("further", "x", depends_on="behind"),
    )

    assert "met" == found["join"].output
    assert "it does not hold that ${steps.pick.output} == 'right'" == found["right"].reason
    assert [("right", True)] * 2 == [(found[name].because_of, found[name].untaken) for name in ("behind", "further")]


async def test_who_looks_at_a_status_can_do_with_any() -> None:
    """A step whose condition looks at how another ended is not skipped for that: so there can be a way out."""
    found = await results(
        ToolStep(id="try", tool="work", args={"on": "bad"}),
        given("usual", 1, depends_on="try"),
        given("way_out", 2, when="${steps.try.status} == 'failed'"),
        given("no_way_out", 3, when="${steps.usual.status} == 'failed'"),
    )

    assert (Failed, Skipped, Succeeded) == tuple(type(found[name]) for name in ("try", "usual", "way_out"))
    assert found["no_way_out"].untaken


@pytest.mark.parametrize(
    ("when", "error"),
    [
        pytest.param("${steps.a.data.n} > 'x'", "Undecided", id="no order"),
        pytest.param("${steps.a.data.n}", "Undecided", id="no truth"),
        pytest.param("${steps.a.data.zz} == 1", "BrokenReference", id="no such part"),
        pytest.param("${steps.bad.status} == 'failed' and ${steps.bad.output} == 1", "BrokenReference", id="no result"),
    ],
)
async def test_a_condition_that_cannot_be_decided_fails_its_step(when: str, error: str) -> None:
    """It neither holds nor fails to hold, so nobody may act as if it did."""
    found = await results(given("a", {"n": 1}), ToolStep(id="bad", tool="work", args={"on": "bad"}), given("b", 1, when=when))

    assert (Failed, error) == (type(found["b"]), found["b"].error)


@pytest.mark.parametrize("whole", [False, True], ids=["map", "plan in a map"])
async def test_an_approval_inside_pauses_only_what_depends_on_it(whole: bool) -> None:
    """The other items are done meanwhile, even where only one may be under way at once; then it goes on where it was."""
    ask = ApprovalStep(id="ask", question="Do ${item}?", when="${item} == 'b'")
    step: AnyStep = ask
    if whole:
        plan = {
            "goal": "g",
            "inputs": {"it": {}},
            "steps": [
                {"id": "ask", "kind": "approval", "question": "Do ${inputs.it}?", "when": "${inputs.it} == 'b'"},
                {
                    "id": "do",
                    "kind": "tool",
                    "tool": "work",
                    "args": {"on": "${inputs.it}"},
                    "depends_on": [],
                    "when": "${steps.ask.status} != 'failed'",
                },
            ],
        }
        step = PlanStep(id="p", args={"it": "${item}"}, plan=plan)
    ledger = await private_ledger()
    steps = [MapStep(id="each", over=["b", "a", "c"], width=1, step=step), given("other", 1), given("sum", "${steps.each.data}")]
    walked = await walk(*steps, ledger=ledger)

    assert isinstance(walked, Suspended)
    assert ["each[0]/ask" if whole else "each[0]"] == [waiting.step for waiting in walked.waiting]
    assert ["other"] == list(walked.results)
    ended = {recorded.event.result.step for recorded in ledger.facts if recorded.event.kind == "step_ended"}
    assert {"each[1]", "each[2]", "other"} <= ended

    (waiting,) = walked.waiting
    await ledger.record(Answered(waiting=waiting.id, key=waiting.key, decision="approve"))
    walked = await walk(*steps, ledger=ledger)
    assert isinstance(walked, Settled)
    assert (["did b", "did a", "did c"] if whole else [{"by": "", "text": ""}]) == walked.results["sum"].data


@pytest.mark.parametrize("cut", range(3, 20))
async def test_what_was_done_inside_is_read_back(cut: int) -> None:
    """A walk that was cut anywhere ends as it would have, and no call that had ended is made again."""
    steps = [
        mapped(["a", "b", "c"], width=2),
        nested(
            ToolStep(id="one", tool="work", args={"on": "x"}), ToolStep(id="two", tool="work", args={"on": "${steps.one.output}"})
        ),
        given("end", ["${steps.each.data}", "${steps.inner.output}"]),
    ]
    first, second = await private_ledger(), await private_ledger()
    whole = await walk(*steps, ledger=first)
    facts = list(first.facts)
    for recorded in facts[:cut]:
        await second.record(recorded.event)
    again = await walk(*steps, ledger=second)

    assert isinstance(whole, Settled)
    assert isinstance(again, Settled)
    assert [["did a", "did b", "did c"], "did did x"] == again.results["end"].data == whole.results["end"].data
    for kind in ("step_started", "step_ended", "tool_ended"):
        scopes = [recorded.event.scope for recorded in second.facts if recorded.event.kind == kind]
        assert len(scopes) == len(set(scopes))
    assert {1} == {
        [each.event.key for each in second.facts if each.event.kind == "tool_ended"].count(key)
        for key in [each.event.key for each in second.facts if each.event.kind == "tool_ended"]
    }


async def test_only_what_failed_inside_is_tried_again() -> None:
    """A map that failed is done anew by the next attempt, but for the items that succeeded."""
    broken = [True]

    @tool(effect="pure")
    async def fragile(on: str) -> str:
        """Break on b, once."""
        if on == "b" and broken:
            broken.clear()
            raise ValueError("broken")
        return on

    step = MapStep(id="each", over=["a", "b", "c"], step=ToolStep(id="i", tool="fragile", args={"on": "${item}"}))
    ledger = await private_ledger()
    first = await walk(step, ledger=ledger, tools=[fragile])
    assert isinstance(first, Settled)
    assert isinstance(first.results["each"], Failed)
    before = len(started(ledger.facts))
    second = await walk(step, ledger=ledger, tools=[fragile], attempts=dict.fromkeys(first.unfinished, 2))

    assert isinstance(second, Settled)
    assert ["a", "b", "c"] == second.results["each"].data
    assert ["each", "each[1]"] == started(ledger.facts)[before:]


async def test_nesting_does_not_deadlock() -> None:
    """Parents hold nothing while their parts wait for slots: three plans inside each other in a map, and one slot."""
    model = GovernedModel(ScriptedModel(done), Governor("here", 1))
    step: AnyStep = Step(id="leaf", task="a leaf")
    for level in range(3):
        step = nested(step, Step(id="beside", task=f"beside {level}"), step_id=f"level{level}")
    found = await results(MapStep(id="each", over=[1, 2, 3], step=step), model=model)

    assert isinstance(found["each"], Succeeded)
    assert 3 * 4 == found["each"].usage.requests


async def test_a_map_has_its_time() -> None:
    """Items that are not done by then have failed, and those that had not begun do not begin."""
    ledger, began = await private_ledger(), anyio.current_time()
    inner = ToolStep(id="i", tool="work", args={"on": "${item}", "seconds": 4})
    found = await results(
        MapStep(id="each", over=[1, 2, 3], width=1, timeout=6, step=inner, on_item_failure="collect"), ledger=ledger
    )

    assert ["did 1", "ToolTimedOut", "StepTimedOut"] == [
        one if isinstance(one, str) else one["error"] for one in found["each"].data
    ]
    assert ["each", "each[0]", "each[1]"] == started(ledger.facts)
    assert 6.0 == pytest.approx(anyio.current_time() - began, abs=0.5)


async def test_a_changed_step_is_all_that_is_done_anew() -> None:
    """Of a plan of twenty steps that was walked, another plan with one step changed does that step and those behind it."""

    def steps(**tasks: str) -> list[AnyStep]:
        tools = {"tools": ()}
        return [
            Step(id=f"s{n}", task=tasks.get(f"s{n}", f"do s{n}"), depends_on=[f"s{n - 4}"] * (n >= 4), **tools) for n in range(20)
        ]

    ledger, model = await private_ledger(), ScriptedModel(done)
    await results(*steps(), ledger=ledger, model=model)
    assert 20 == len(model.requests)
    found = await results(*steps(s9="do s9 otherwise"), ledger=ledger, model=model)

    assert ["do s9 otherwise", "do s13", "do s17"] == [task(request) for request in model.requests[20:]]
    assert {Succeeded} == {type(end) for end in found.values()}


async def test_an_effect_in_doubt_inside_a_map_is_asked_about() -> None:
    """It is not repeated; the other items are done, and what a person says is taken for that item alone."""
    sent: list[str] = []

    @tool
    async def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        return f"sent to {to}"

    step = MapStep(id="each", over=["a", "b"], step=ToolStep(id="i", tool="send", args={"to": "${item}"}), width=1)
    first, second = await private_ledger(), await private_ledger()
    await walk(step, ledger=first, tools=[send])
    for recorded in first.facts:
        await second.record(recorded.event)
        if recorded.event.kind == "tool_started":
            break
    sent.clear()
    walked = await walk(step, ledger=second, tools=[send])
    assert isinstance(walked, Suspended)
    assert ["each[0]"] == [waiting.step for waiting in walked.waiting]
    assert ["b"] == sent

    (waiting,) = walked.waiting
    third = await private_ledger()
    answer = Answered(waiting=waiting.id, key=waiting.key, decision="happened", text="it was sent to a")
    for fact in (*(recorded.event for recorded in second.facts), answer):
        await third.record(fact)
    walked = await walk(step, ledger=third, tools=[send])

    assert isinstance(walked, Settled)
    assert ["it was sent to a", "sent to b"] == walked.results["each"].data
    assert ["b"] == sent


class Sluggish(MemoryJournal):
    """Writes only after others had their turn, as a disk may; `lose` says what is taken from us before it is written."""

    def __init__(self, lose: Callable[[Sequence[Fact]], bool] = lambda _facts: False) -> None:
        super().__init__()
        self.lose, self.batches = lose, list[tuple[Fact, ...]]()

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> Writer:
        return SluggishWriter(await super().claim(run, holder=holder, ttl=ttl, scope=scope), self)


class SluggishWriter:
    glance = None

    def __init__(self, inner: Writer, journal: Sluggish) -> None:
        self.inner, self.journal, self.epoch = inner, journal, inner.epoch

    async def append(self, *lines: Line) -> tuple[Recorded, ...]:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(1)
        facts = tuple(fact for fact, _ in lines)
        if self.journal.lose(facts):
            raise LeaseLost("r", 1, 2)
        self.journal.batches.append(facts)
        return await self.inner.append(*lines)

    async def renew(self) -> int:
        return await self.inner.renew()

    async def release(self) -> None:
        await self.inner.release()


class TestWritingTogether:
    """What goes into a journal that takes its time."""

    async def test_steps_start_after_the_ends_that_let_them(self) -> None:
        """Nobody waits for each end by itself, and yet no step begins before what it needs is written down to have ended."""
        journal = Sluggish()
        ledger = await open_ledger(journal, "r", Ports())
        wide = [given(f"a{number}", number) for number in range(40)]
        after = [given(f"b{number}", -number - 1, depends_on=[f"a{number}"]) for number in range(40)]

        walked = await walk(*wide, *after, ledger=ledger)

        assert isinstance(walked, Settled)
        assert all(isinstance(each, Succeeded) for each in walked.results.values())
        told = [recorded.event for recorded in await journal.read("r")]
        ends = {fact.result.step: place for place, fact in enumerate(told) if isinstance(fact, StepEnded)}
        starts = {fact.step: place for place, fact in enumerate(told) if isinstance(fact, StepStarted)}
        assert 80 == len(ends) == len(starts)
        assert all(ends[f"a{number}"] < starts[f"b{number}"] for number in range(40))
        assert len(journal.batches) < 12

    async def test_an_end_counts_when_somebody_else_writes_it(self) -> None:
        """A message is written while the last step ends: the walk goes on when both are."""
        journal = Sluggish()
        ledger = await open_ledger(journal, "r", Ports())

        async def say() -> None:
            await anyio.sleep(2.5)  # when the first step's end is on its way
            await ledger.record(InterruptReceived(text="hello"))

        async with anyio.create_task_group() as group:
            group.start_soon(say)
            walked = await walk(given("a", 1), given("b", 2), given("c", "${steps.b.data}", depends_on=["a"]), ledger=ledger)

        assert isinstance(walked, Settled)
        assert ["a", "b", "c"] == [*walked.results]

    @pytest.mark.parametrize("lost", range(1, 5))  # of which somebody else leads the second
    async def test_a_run_that_is_lost_ends(self, lost: int) -> None:
        """Whichever write fails, and whoever was to write it: the walk says so, and does not wait for it for ever."""
        appended = count(1)
        ledger = await open_ledger(Sluggish(lambda _facts: next(appended) == lost), "r", Ports())

        async def say() -> None:
            while True:
                await anyio.sleep(0.4)
                with suppress(LeaseLost):
                    await ledger.record(InterruptReceived(text="hello"))

        async with anyio.create_task_group() as group:
            group.start_soon(say)
            with pytest.raises(LeaseLost):
                await walk(*(given(f"a{number}", number) for number in range(20)), ledger=ledger)
            group.cancel_scope.cancel()
