"""Calls are inserted, removed and reordered between two lives of a run: only what really changed is paid for again."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator import DAGExecutor, MemoryJournal
from orchestrator.batch import observe_all
from orchestrator.hooks import Hook
from orchestrator.journalled import JournalledModel, JournalledTools
from orchestrator.ledger import Ledger, open_ledger, reopen_ledger
from planner import Plan, ToolStep
from registry.calls import Call
from registry.messages import Request, ToolCall, UserMessage
from registry.testing import ScriptedModel
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Effect, Observation, Tool
from tests.backends import VirtualClockLoop
from tests.scenario import ports

EFFECTS: tuple[Effect, ...] = ("pure", "keyed", "unkeyed")

Lines = tuple[tuple[Effect, int], ...]
"""Tool calls in the order they are made: the tool of this effect, with this argument."""

lines = st.lists(st.tuples(st.sampled_from(EFFECTS), st.integers(0, 3)), max_size=8).map(tuple)
numbers = st.lists(st.integers(0, 5), max_size=8).map(tuple)

Life = Callable[[Ledger], Awaitable[None]]


def two_lives(first: Life, second: Life) -> None:
    """The same run in two processes, one after the other."""

    async def lives() -> None:
        journal = MemoryJournal()
        ledger = await open_ledger(journal, "r", ports())
        await first(ledger)
        await ledger.release()
        await second(await reopen_ledger(journal, "r", ports()))

    anyio.run(lives, backend_options={"loop_factory": VirtualClockLoop})


def tools(paid: list[tuple[Effect, int]]) -> list[Tool]:
    def made(effect: Effect) -> Tool:
        @tool(name=effect, effect=effect)
        async def work(n: int) -> str:
            """Work."""
            paid.append((effect, n))
            return f"done {n}"

        return work

    return [made(effect) for effect in EFFECTS]


async def observed(made: Lines, paid: list[tuple[Effect, int]], ledger: Ledger, *, at_once: bool, attempt: int = 1) -> None:
    """Make the calls in one scope: as one batch, or each by itself."""
    desk = JournalledTools(ToolRegistry(tools(paid)), ledger)
    wanted = [ToolCall(id=f"c{place}", name=effect, arguments=f'{{"n": {n}}}') for place, (effect, n) in enumerate(made)]
    call = Call(run="r", scope="step/x", label="x", attempt=attempt)
    for batch in [wanted] if at_once else [[each] for each in wanted]:
        if batch:
            await observe_all(desk, batch, call, Hook())


def new(before: Sequence[object], after: Sequence[object]) -> Counter[object]:
    """What comes more often afterwards than before."""
    return Counter(after) - Counter(before)


@settings(max_examples=60, deadline=None)
@given(before=lines, after=lines, at_once=st.booleans(), then_at_once=st.booleans())
def test_tool_calls(before: Lines, after: Lines, at_once: bool, then_at_once: bool) -> None:
    """A call runs again only if there are now more equal ones than have an outcome, wherever and among whatever it stands."""
    paid: list[tuple[Effect, int]] = []
    again: list[tuple[Effect, int]] = []
    two_lives(
        partial(observed, before, paid, at_once=at_once),
        partial(observed, after, again, at_once=then_at_once),
    )

    assert Counter(before) == Counter(paid)
    assert new(before, after) == Counter(again)


@settings(max_examples=40, deadline=None)
@given(before=lines, after=lines)
def test_tool_calls_of_a_later_attempt(before: Lines, after: Lines) -> None:
    """The next attempt looks anew, and repeats no effect: those have one key for all attempts."""
    again: list[tuple[Effect, int]] = []
    two_lives(
        partial(observed, before, [], at_once=True),
        partial(observed, after, again, at_once=True, attempt=2),
    )
    effects = [[line for line in each if line[0] != "pure"] for each in (before, after)]
    looks = [line for line in after if line[0] == "pure"]

    assert new(*effects) + Counter(looks) == Counter(again)


@settings(max_examples=40, deadline=None)
@given(before=numbers, after=numbers)
def test_model_calls(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """The same of questions to a model: neither order nor neighbours are in a key."""

    async def asked(questions: tuple[int, ...], model: ScriptedModel, ledger: Ledger) -> None:
        journalled = JournalledModel(model, ledger)
        for number in questions:
            request = Request(messages=(UserMessage(text=f"question {number}"),))
            await journalled.chat(request, Call(run="r", scope="step/x"))

    models = [ScriptedModel(lambda request: f"answer to {request.messages[0].text}") for _ in range(2)]
    two_lives(partial(asked, before, models[0]), partial(asked, after, models[1]))

    paid = [[int(request.messages[0].text.split()[1]) for request in model.requests] for model in models]
    assert Counter(before) == Counter(paid[0])
    assert new(before, after) == Counter(paid[1])


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, Plan]:
    """Two plans over the same few tasks, each step under any name, in any order, waiting for any of those before it."""

    def plan() -> Plan:
        tasks = draw(st.lists(st.integers(0, 6), min_size=1, max_size=6, unique=True))
        names = draw(st.permutations([f"s{place}" for place in range(len(tasks))]))
        steps = [
            ToolStep(
                id=name,
                tool="pure",
                args={"n": task},
                depends_on=draw(st.sets(st.sampled_from(names[:place]), max_size=2).map(sorted)) if place else (),
            )
            for place, (name, task) in enumerate(zip(names, tasks, strict=True))
        ]
        return Plan(goal="any", steps=steps)

    return plan(), plan()


def contents(plan: Plan) -> dict[tuple[object, ...], int]:
    """Each step as its task and all that it waits for, without names, and its task alone."""
    found: dict[str, tuple[object, ...]] = {}
    for step in plan.steps:  # which come after what they wait for
        assert isinstance(step, ToolStep)
        found[step.id] = (step.args["n"], frozenset(found[name] for name in step.depends_on))
    return {content: content[0] for content in found.values()}


@settings(max_examples=60, deadline=None)
@given(plans())
def test_steps(both: tuple[Plan, Plan]) -> None:
    """A step is its task and those of all that it waits for: whatever it is called and wherever it stands, it is done once."""
    paid: list[tuple[Effect, int]] = []
    again: list[tuple[Effect, int]] = []

    async def walked(plan: Plan, done: list[tuple[Effect, int]], ledger: Ledger) -> None:
        await DAGExecutor(ScriptedModel([]), tools(done), ledger=ledger).walk(plan)

    two_lives(partial(walked, both[0], paid), partial(walked, both[1], again))

    before, after = map(contents, both)
    fresh = {step: n for step, n in after.items() if step not in before}
    assert Counter(before.values()) == Counter(n for _, n in paid)
    assert Counter(fresh.values()) == Counter(n for _, n in again)


@pytest.mark.anyio
async def test_which_of_equal_calls_ends_first_does_not_matter() -> None:
    """Keys are allotted in call order before anything starts: an outcome belongs to its call, however the calls overtake."""
    seconds = iter([3.0, 1.0, 2.0])

    @tool(effect="pure")
    async def wait(call: Call) -> str:  # which sees what it belongs to, and so is never made for others
        """Wait."""
        mine = next(seconds)
        await anyio.sleep(mine)
        return f"waited {mine}"

    async def life(ledger: Ledger) -> list[str]:
        wanted = [ToolCall(id=f"c{place}", name="wait", arguments="{}") for place in range(3)]
        call = Call(run="r", scope="step/x")
        seen = await observe_all(JournalledTools(ToolRegistry([wait]), ledger), wanted, call, Hook())
        return [each.text for each in seen if isinstance(each, Observation)]

    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    first = await life(ledger)
    await ledger.release()

    assert 3 == len(set(first))
    assert first == await life(await reopen_ledger(journal, "r", ports()))
