"""One observation for each call, in call order, whatever happens."""

import json
from collections.abc import Sequence

import anyio
import pytest
from msgspec.structs import replace

from orchestrator import Limits, Orchestrator
from orchestrator.agent import ReActAgent
from orchestrator.batch import Observed, observe_all
from orchestrator.errors import LeaseLost, OutcomeUnknown
from orchestrator.events.facts import Answered, ToolEnded, ToolStarted
from orchestrator.hooks import Hook, as_one
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journalled import JournalledTools
from orchestrator.ledger import Ledger, open_ledger, private_ledger
from orchestrator.waiting import Decision, Waiting
from planner import Plan, Step
from registry.builtin import ask_user
from registry.calls import Call
from registry.errors import ToolDenied
from registry.messages import Reply, ToolCall, ToolMessage
from registry.testing import ScriptedModel, asks, asks_many
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Observation
from tests.scenario import ports

pytestmark = pytest.mark.anyio

CALL = Call(run="r", scope="step/x", label="x", iteration=1)


class Desk:
    """Tools of two effects, and a diary of what they did."""

    def __init__(self) -> None:
        self.diary: list[str] = []
        self.at_work = 0

        @tool(effect="pure")
        async def look(at: str, seconds: float = 1.0) -> str:
            """Look at something."""
            return await self._work(f"look {at}", seconds)

        @tool
        async def send(to: str, seconds: float = 1.0) -> str:
            """Send a letter."""
            return await self._work(f"send {to}", seconds)

        self.tools = ToolRegistry([look, send])

    async def _work(self, what: str, seconds: float) -> str:
        self.diary.append(f"+{what}")
        self.at_work += 1
        try:
            await anyio.sleep(seconds)
        finally:
            self.at_work -= 1
        self.diary.append(f"-{what}")
        return what

    async def observe(self, *wanted: ToolCall, hook: Hook | None = None, ledger: Ledger | None = None) -> tuple[Observed, ...]:
        tools = JournalledTools(self.tools, ledger or await private_ledger())
        return await observe_all(tools, wanted, CALL, as_one(hook))


def look(at: str, seconds: float = 1.0) -> ToolCall:
    return ToolCall(id=f"id-{at}", name="look", arguments=json.dumps({"at": at, "seconds": seconds}))


def send(to: str) -> ToolCall:
    return ToolCall(id=f"id-{to}", name="send", arguments=json.dumps({"to": to}))


def texts(seen: tuple[Observed, ...]) -> list[str]:
    return [each.text if isinstance(each, Observation) else each.what for each in seen]


async def test_observations_stand_in_call_order() -> None:
    """However long each call takes: the slowest first, and each with the id of its call."""
    seen = await Desk().observe(look("a", 3), look("b", 1), look("c", 2))

    assert ["look a", "look b", "look c"] == texts(seen)
    assert ["id-a", "id-b", "id-c"] == [each.call_id for each in seen if isinstance(each, Observation)]


async def test_effects_are_a_barrier() -> None:
    """Looks before an effect end before it begins, and those after it begin when it has ended."""
    desk = Desk()
    await desk.observe(look("a", 2), look("b", 1), send("x"), look("c", 1), send("y"))

    assert ["+look a", "+look b"] == sorted(desk.diary[:2])
    assert [
        "-look b",
        "-look a",
        "+send x",
        "-send x",
        "+look c",
        "-look c",
        "+send y",
        "-send y",
    ] == desk.diary[2:]


async def test_a_prefix_of_the_provider_is_not_part_of_a_name() -> None:
    """`functions.look` is `look`, for keys, hooks and tools alike."""
    (seen,) = await Desk().observe(replace(look("a"), name="functions.look"))

    assert isinstance(seen, Observation)
    assert ("look", "look a", None) == (seen.name, seen.text, seen.error)


class Refuses(Hook):
    """Refuses calls by what they are about: before they run, or what came of them."""

    def __init__(self, before: str = "", after: str = "") -> None:
        self.before, self.after = before, after

    async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
        if self.before and self.before in wanted.arguments:
            raise ToolDenied(wanted.name, "not that one")
        return wanted

    async def after_tool(self, observation: Observation, call: Call) -> Observation:
        if self.after and self.after == observation.text:
            raise ValueError("not for you")
        return observation


async def test_one_of_three_is_denied() -> None:
    """The others keep their results and their places; the denied one never runs and the model reads why."""
    desk, ledger = Desk(), await private_ledger()
    seen = await desk.observe(look("a"), look("secret"), look("c"), hook=Refuses(before="secret"), ledger=ledger)

    assert ["look a", "error: 'look' may not be called so: not that one", "look c"] == texts(seen)
    assert ["+look a", "+look c"] == sorted(desk.diary[:2])
    assert [None, "ToolDenied", None] == [getattr(each, "error", "") for each in seen]
    assert 2 == sum(isinstance(recorded.event, ToolStarted) for recorded in ledger.facts)
    assert 3 == sum(isinstance(recorded.event, ToolEnded) for recorded in ledger.facts)


async def test_a_denial_is_remembered() -> None:
    """The next life of the run does not ask again: a policy that has changed its mind changes no past."""
    desk, ledger = Desk(), await private_ledger()
    first = await desk.observe(look("secret"), hook=Refuses(before="secret"), ledger=ledger)
    again = await private_ledger()
    for recorded in ledger.facts:
        await again.record(recorded.event)

    assert first == await desk.observe(look("secret"), ledger=again)
    assert [] == desk.diary


async def test_an_outcome_may_be_refused() -> None:
    """A policy that refuses what came back hides it from the model; the siblings keep their results."""
    seen = await Desk().observe(look("a"), look("secret"), look("c"), hook=Refuses(after="look secret"))

    assert ["look a", "look c"] == texts(seen)[::2]
    assert "error: a hook refused the outcome of 'look': ValueError: not for you" == texts(seen)[1]
    assert "ToolDenied" == getattr(seen[1], "error", None)


async def test_a_call_reads_what_came_before_it() -> None:
    """It knows what the calls of its reply have come to that had ended before it began, and not what those beside it will."""
    desk, read = Desk(), list[tuple[str, ...]]()

    @tool
    async def sum_up(call: Call) -> str:
        """Sum up what was seen."""
        read.append(tuple(seen.text for seen in call.earlier))
        return "summed up"

    @tool(effect="pure")
    async def compare(call: Call) -> str:
        """Compare."""
        read.append(tuple(seen.text for seen in call.earlier))
        return "compared"

    desk.tools = desk.tools.with_tools(sum_up, compare)
    wanted = [call_of("sum_up"), look("a", 2), call_of("compare"), look("b"), call_of("sum_up"), send("x"), call_of("compare")]
    await desk.observe(*wanted)

    first = ("summed up",)
    second = (*first, "look a", "compared", "look b")
    assert [(), first, second, (*second, "summed up", "send x")] == read


async def begun_in_turn(desk: Desk, *wanted: ToolCall, hook: Hook | None = None) -> list[str]:
    ledger = await private_ledger()
    await desk.observe(*wanted, hook=hook, ledger=ledger)
    return [recorded.event.call_id for recorded in ledger.facts if isinstance(recorded.event, ToolStarted)]


async def test_calls_begin_in_call_order() -> None:
    """On every loop their intents are in the journal in that order, whatever each waits for and which of them never runs."""

    class Ponders(Hook):
        async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
            await anyio.sleep({"id-0": 9, "id-3": 5}.get(wanted.id, 0))
            if wanted.id == "id-2":
                raise ToolDenied(wanted.name, "not that one")
            return wanted

    wanted = [look(str(n)) for n in range(8)]

    assert [f"id-{n}" for n in range(8) if n != 2] == await begun_in_turn(Desk(), *wanted, hook=Ponders())
    assert [f"id-{n}" for n in range(8)] == await begun_in_turn(Desk(), *wanted)


@pytest.mark.parametrize(("width", "seconds"), [(1, 12), (2, 7), (16, 5)])
async def test_so_many_go_side_by_side(width: int, seconds: int) -> None:
    """No more than the width of the tools; whoever is ready takes up the next call, and the observations stay in order."""
    desk = Desk()
    desk.tools = desk.tools.with_width(width)
    wanted = [look(str(n), seconds) for n, seconds in enumerate((5, 1, 1, 1, 1, 1, 2))]
    most, began = 0, anyio.current_time()

    async def watch() -> None:
        nonlocal most
        while True:
            await anyio.sleep(0.5)
            most = max(most, desk.at_work)

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        seen = await desk.observe(*wanted)
        group.cancel_scope.cancel()

    assert [f"look {n}" for n in range(7)] == texts(seen)
    assert (min(width, 7), seconds) == (most, round(anyio.current_time() - began))


async def test_the_width_of_a_plan_s_steps_is_a_limit() -> None:
    """What is set for the run holds for the tools that each of its agents is given."""
    desk = Desk()
    script = [asks_many(*(("look", {"at": str(n)}) for n in range(6))), "done"]
    plan = Plan(goal="g", steps=[Step(id="x", task="look around")], output="${steps.x.output}")
    began = anyio.current_time()
    with ScriptedModel(script) as model:
        answer = await Orchestrator(model, tools=desk.tools, limits=Limits(tool_width=2)).run(plan)

    assert ("achieved", 3) == (answer.outcome, round(anyio.current_time() - began))


class Stubborn(Desk):
    """A desk where somebody who is told to stop says that they have, as if nothing had been."""

    def __init__(self) -> None:
        super().__init__()

        @tool
        async def dig() -> str:
            """Dig."""
            try:
                await anyio.sleep(100)
            finally:
                return "stopped early"  # noqa: B012

        self.tools = self.tools.with_tools(dig)


@pytest.mark.parametrize("beside", [pytest.param((), id="alone"), pytest.param((look("a", 1),), id="after others")])
async def test_a_tool_that_swallows_a_cancellation_stops_nothing(beside: tuple[ToolCall, ...]) -> None:
    """What it says is written down, and the cancellation goes on all the same."""
    ledger, came = await private_ledger(), []
    with anyio.move_on_after(50) as scope:
        came.append(await Stubborn().observe(*beside, ToolCall(id="d", name="dig", arguments="{}"), ledger=ledger))

    assert (True, []) == (scope.cancelled_caught, came)
    ended = [recorded.event.observation for recorded in ledger.facts if isinstance(recorded.event, ToolEnded)]
    assert ("d", "stopped early") == (ended[-1].call_id, ended[-1].text)


async def test_errors_are_observations_among_others() -> None:
    """Unknown tools and wrong arguments leave their siblings alone."""
    wrong = ToolCall(id="w", name="look", arguments='{"att": 1}')
    seen = await Desk().observe(look("a"), replace(look("b"), name="lok"), wrong, look("c"))

    assert [None, "UnknownTool", "BadArguments", None] == [getattr(each, "error", "") for each in seen]


async def test_no_calls_no_observations() -> None:
    """An empty batch is an empty batch."""
    assert () == await Desk().observe()


@pytest.mark.parametrize("after", [0.0, 0.5, 1.5, 2.5, 3.5])
async def test_cancelled_in_the_middle(after: float) -> None:
    """Nothing goes on, what ended is written, and the next life does the rest: looks again, and asks about the letter."""
    desk, ledger = Desk(), await private_ledger()
    wanted = (look("a", 1), look("b", 2), send("x"), look("c", 2))
    with anyio.move_on_after(after):
        await desk.observe(*wanted, ledger=ledger)
    diary = list(desk.diary)
    await anyio.sleep(10)

    assert (0, diary) == (desk.at_work, desk.diary)
    ended = [recorded.event.observation.text for recorded in ledger.facts if isinstance(recorded.event, ToolEnded)]
    assert [line[1:] for line in diary if line.startswith("-")] == ended

    again = await private_ledger()
    for recorded in ledger.facts:
        await again.record(recorded.event)
    seen = await desk.observe(*wanted, ledger=again)
    in_doubt = "+send x" in diary and "-send x" not in diary
    assert in_doubt == any(isinstance(each, Waiting) for each in seen)
    assert 1 == desk.diary.count("+send x")


async def test_nothing_starts_after_a_call_in_doubt() -> None:
    """Effects keep their order: what comes after one that may have happened waits with it."""
    desk, ledger = Desk(), await private_ledger()
    with anyio.move_on_after(0.5):
        await desk.observe(send("x"), send("y"), ledger=ledger)
    again = await private_ledger()
    for recorded in ledger.facts:
        await again.record(recorded.event)

    (doubt,) = await desk.observe(send("x"), send("y"), ledger=again)

    assert isinstance(doubt, Waiting)
    assert ["+send x"] == desk.diary


async def test_an_outcome_of_an_earlier_attempt_fits_the_call_of_this_one() -> None:
    """Providers name each call anew; an effect that is not repeated still answers the call that asks for it now."""
    desk, ledger = Desk(), await private_ledger()
    for attempt, call_id in ((1, "first"), (2, "second")):
        asked = asks("send", to="x")
        script: list[Reply | str] = [replace(asked, calls=(replace(asked.calls[0], id=call_id),)), "done"]
        with ScriptedModel(script) as model:
            result = await ReActAgent(model, desk.tools).run("go", call=replace(CALL, attempt=attempt), ledger=ledger)
        (seen,) = [message for message in result.transcript if isinstance(message, ToolMessage)]
        assert (call_id, "send x") == (seen.call_id, seen.text)

    assert 1 == desk.diary.count("+send x")


async def test_a_lost_lease_comes_out_as_itself() -> None:
    """What ends the run is no observation, and no group of errors, though it happens in a batch."""
    journal = MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    await journal.claim("r", holder=ports().holder(), ttl=60)

    with pytest.raises(LeaseLost):
        await Desk().observe(look("a"), look("b"), ledger=ledger)


async def test_a_batch_in_an_agent_has_one_observation_for_each_call() -> None:
    """The message that asks is followed by its observations and nothing else, also when one is refused afterwards."""
    desk = Desk()
    script = [asks_many(("look", {"at": "a"}), ("look", {"at": "b"}), ("send", {"to": "x"})), "done"]
    with ScriptedModel(script) as model:
        result = await ReActAgent(model, desk.tools, hooks=Refuses(after="look b")).run("go")

    assert ("completed", "done") == (result.outcome, result.answer)
    asked, *seen = model.requests[1].messages[-4:]
    assert [call.id for call in asked.calls] == [message.call_id for message in seen]


class GuardedDesk(Desk):
    """A desk where some things need leave: one look among many, and every parcel."""

    def __init__(self) -> None:
        super().__init__()

        @tool(effect="pure", requires_approval=True)
        async def peek(at: str) -> str:
            """Look at what is not everybody's business."""
            return await self._work(f"peek {at}", 1)

        @tool(requires_approval=True)
        async def post(to: str) -> str:
            """Post a parcel."""
            return await self._work(f"post {to}", 1)

        self.tools = self.tools.with_tools(peek, post, ask_user)


def call_of(name: str, **arguments: str) -> ToolCall:
    return ToolCall(id=f"id-{name}-{'-'.join(arguments.values())}", name=name, arguments=json.dumps(arguments))


async def another_life(ledger: Ledger, answers: Sequence[tuple[Waiting, Decision]]) -> Ledger:
    again = await private_ledger()
    for recorded in ledger.facts:
        await again.record(recorded.event)
    for waiting, decision in answers:
        await again.record(Answered(waiting=waiting.id, key=waiting.key, decision=decision, text="so"))
    return again


def waiting(seen: Sequence[Observed]) -> list[Waiting]:
    return [each for each in seen if isinstance(each, Waiting)]


async def test_one_of_ten_needs_leave() -> None:
    """The others are observed and written down meanwhile; with the leave the batch is whole, and in call order."""
    desk, ledger = GuardedDesk(), await private_ledger()
    wanted = [look(str(n)) if n != 4 else call_of("peek", at="4") for n in range(10)]
    seen = await desk.observe(*wanted, ledger=ledger)
    assert [4] == [place for place, each in enumerate(seen) if isinstance(each, Waiting)]
    assert 9 == sum(isinstance(recorded.event, ToolEnded) for recorded in ledger.facts)

    ledger = await another_life(ledger, [(waiting(seen)[0], "approve")])
    seen = await desk.observe(*wanted, ledger=ledger)

    assert [f"{'peek' if n == 4 else 'look'} {n}" for n in range(10)] == texts(seen)
    assert 10 == sum(line.startswith("+") for line in desk.diary)


async def test_all_is_asked_at_once() -> None:
    """Effects that need leave run one after another, but nobody has to come back for each; looks between them wait."""
    desk, ledger = GuardedDesk(), await private_ledger()
    wanted = [call_of("post", to="a"), look("b"), call_of("post", to="c"), call_of("ask_user", question="Well?")]
    seen = await desk.observe(*wanted, ledger=ledger)

    assert ['post with {"to": "a"}', 'post with {"to": "c"}', "Well?"] == texts(seen)
    assert [] == desk.diary == list(ledger.facts)

    first, second, question = waiting(seen)
    ledger = await another_life(ledger, [(question, "answer"), (second, "approve"), (first, "reject")])
    seen = await desk.observe(*wanted, ledger=ledger)

    assert ["error: 'post' may not be called so: the user said no: so", "look b", "post c", "so"] == texts(seen)
    assert ["+look b", "-look b", "+post c", "-post c"] == desk.diary


async def test_equal_calls_need_a_leave_each() -> None:
    """What was allowed once has not been allowed twice."""
    desk, ledger = GuardedDesk(), await private_ledger()
    wanted = [call_of("post", to="a")] * 2
    first, second = waiting(await desk.observe(*wanted, ledger=ledger))
    ledger = await another_life(ledger, [(second, "approve")])
    (still,) = waiting(await desk.observe(*wanted, ledger=ledger))

    assert first == still != second
    assert [] == desk.diary


class Rewrites(Hook):
    """Sends everything somewhere else."""

    def __init__(self, to: str) -> None:
        self.to = to

    async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
        return replace(wanted, arguments=json.dumps({"to": self.to}))


async def test_what_is_shown_is_what_will_run() -> None:
    """A policy has rewritten the call before anybody is asked; if it has other ideas later, they are asked again."""
    desk, ledger = GuardedDesk(), await private_ledger()
    (asked,) = waiting(await desk.observe(call_of("post", to="a"), hook=Rewrites("b"), ledger=ledger))
    assert 'post with {"to": "b"}' == asked.what

    ledger = await another_life(ledger, [(asked, "approve")])
    (other,) = waiting(await desk.observe(call_of("post", to="a"), hook=Rewrites("c"), ledger=ledger))
    assert 'post with {"to": "c"}' == other.what
    await desk.observe(call_of("post", to="a"), hook=Rewrites("b"), ledger=await another_life(ledger, []))

    assert ["+post b", "-post b"] == desk.diary


@pytest.mark.parametrize("place", [0, 1])
async def test_a_policy_denies_before_anybody_is_asked(place: int) -> None:
    """A person's leave is no way round it, neither for the call whose turn it is nor for one looked at ahead."""
    wanted = [call_of("post", to="a"), call_of("post", to="b")]
    refused = "ab"[place]
    seen = await GuardedDesk().observe(*wanted, hook=Refuses(before=refused))

    assert ["ba"[place]] == [json.loads(each.what.removeprefix("post with "))["to"] for each in waiting(seen)]


async def test_a_doubt_that_fails_the_step_cuts_off_no_sibling() -> None:
    """What runs beside such a call comes to its end and is written down; the error then comes out as itself."""
    desk, ledger = Desk(), await private_ledger()

    @tool(concurrent=True)
    async def ring() -> str:
        """Ring the bell."""
        await anyio.sleep(5)
        return "rung"

    desk.tools = desk.tools.with_tools(ring)
    wanted = (look("a", 1), ToolCall(id="r", name="ring", arguments="{}"), look("b", 3))
    with anyio.move_on_after(0.5):
        await desk.observe(*wanted, ledger=ledger)
    ledger = await another_life(ledger, [])
    tools = JournalledTools(desk.tools, ledger)

    with pytest.raises(OutcomeUnknown, match="'ring' was begun"):
        await observe_all(tools, wanted, replace(CALL, in_doubt="fail"), as_one(None))

    ended = [recorded.event.observation.text for recorded in ledger.facts if isinstance(recorded.event, ToolEnded)]
    assert ["look a", "look b"] == ended
