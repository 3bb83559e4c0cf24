"""Pure calls that are the same: one of them is made."""

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from orchestrator import MemoryJournal
from orchestrator.batch import observe_all
from orchestrator.events.facts import ToolEnded, ToolStarted
from orchestrator.executor import DAGExecutor
from orchestrator.granted import GrantedCalls
from orchestrator.hooks import Hook, as_one
from orchestrator.journalled import JournalledTools
from orchestrator.ledger import Ledger, open_ledger, private_ledger, reopen_ledger
from orchestrator.sharing import MOST_KEPT, Sharing
from orchestrator.state import RunState
from planner import Plan, ToolStep
from planner.results import Succeeded
from registry.calls import Call
from registry.errors import ConfigurationError, ToolDenied
from registry.messages import ToolCall
from registry.testing import ScriptedModel
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Effect, Observation, Tool, ToolTraits
from tests.scenario import ports

pytestmark = pytest.mark.anyio

SECONDS = 2.0


class Archive:
    """Looks things up, which takes a while, and knows how often it did. The first `failing` times it breaks down."""

    def __init__(self, effect: Effect = "pure", *, failing: int = 0, **traits: Any) -> None:
        self.looked: list[str] = []

        @tool(effect=effect, **traits)
        async def look(at: str) -> str:
            """Look it up."""
            self.looked.append(at)
            await anyio.sleep(SECONDS)
            if len(self.looked) <= failing:
                raise OSError("the archive is closed")
            return f"{at}, the {len(self.looked)}th"

        self.tools: Sequence[Tool] = [look]

    async def observe(self, ledger: Ledger, who: str, at: str = "x", *, hook: Hook | None = None, **more: Any) -> Observation:
        """What somebody sees who asks for it, from a step of its own."""
        call = Call(run="r", scope=f"step/{who}", label=who, **more)
        wanted = ToolCall(id=f"call of {who}", name="look", arguments=json.dumps({"at": at}))
        (seen,) = await observe_all(JournalledTools(ToolRegistry(self.tools), ledger), [wanted], call, as_one(hook))
        assert isinstance(seen, Observation)
        return seen


async def at_once(archive: Archive, ledger: Ledger, *who: str, **more: Any) -> dict[str, Observation]:
    """What they see who ask side by side."""
    seen: dict[str, Observation] = {}

    async def one(name: str) -> None:
        seen[name] = await archive.observe(ledger, name, **more)

    async with anyio.create_task_group() as group:
        for name in who:
            group.start_soon(one, name)
    return seen


def since(began: float) -> float:
    return round(anyio.current_time() - began, 2)


def ends(ledger: Ledger) -> list[ToolEnded]:
    return [recorded.event for recorded in ledger.facts if isinstance(recorded.event, ToolEnded)]


def begun(ledger: Ledger) -> list[ToolStarted]:
    return [recorded.event for recorded in ledger.facts if isinstance(recorded.event, ToolStarted)]


async def test_branches_that_want_the_same() -> None:
    """Steps of different branches get one result, each with Facts of its own that say so, and its origins."""
    archive, ledger, began = Archive(), await private_ledger(), anyio.current_time()
    steps = [ToolStep(id=name, task=f"for {name}", tool="look", args={"at": "x"}) for name in "abc"]
    walked = await DAGExecutor(ScriptedModel([]), archive.tools, ledger=ledger).walk(Plan(goal="g", steps=steps))

    assert ["x"] == archive.looked
    assert SECONDS == since(began)
    results = [result for result in walked.results.values() if isinstance(result, Succeeded)]
    assert ["x, the 1th"] * 3 == [result.output for result in results]
    assert {("tool:look",)} == {result.origins for result in results}
    assert [SECONDS, 0.0, 0.0] == sorted((round(result.seconds, 2) for result in results), reverse=True)
    first, *others = ends(ledger)
    assert ("", {first.key}) == (first.same_as, {each.same_as for each in others})
    assert {"a", "b", "c"} == {each.step for each in begun(ledger)} == {each.observation.call_id for each in ends(ledger)}
    assert 2 == ledger.reused


async def test_one_after_another() -> None:
    """Who comes later asks anew: what a pure tool says may change, unless it declares otherwise."""
    archive, ledger = Archive(), await private_ledger()
    seen = [await archive.observe(ledger, name) for name in "ab"]

    assert ["x, the 1th", "x, the 2th"] == [each.text for each in seen]


@pytest.mark.parametrize("effect", ["keyed", "transactional", "unkeyed"])
async def test_effects_are_never_shared(effect: Effect) -> None:
    """Whoever wants something done twice wants it done twice."""
    archive = Archive(effect)
    await at_once(archive, await private_ledger(), "a", "b")

    assert ["x", "x"] == archive.looked


async def test_a_tool_that_sees_what_its_calls_belong_to() -> None:
    """It may answer each of them otherwise."""

    @tool(effect="pure")
    async def look(at: str, call: Call) -> str:
        """Look it up."""
        await anyio.sleep(1)
        return f"{at} for {call.label}"

    archive = Archive()
    archive.tools = [look]
    seen = await at_once(archive, await private_ledger(), "a", "b")

    assert ("x for a", "x for b") == (seen["a"].text, seen["b"].text)


async def test_tools_of_the_same_name() -> None:
    """Agents may have tools of their own: what one says is nothing to the other."""
    ledger, here, there = await private_ledger(), Archive(), Archive()
    async with anyio.create_task_group() as group:
        group.start_soon(here.observe, ledger, "a")
        group.start_soon(there.observe, ledger, "b")

    assert (["x"], ["x"]) == (here.looked, there.looked)


@pytest.mark.parametrize("followers", [1, 3])
async def test_a_leader_that_is_cancelled(followers: int) -> None:
    """Its call is handed over to one of those who wait, and the others wait for that one."""
    archive, ledger, began = Archive(), await private_ledger(), anyio.current_time()
    async with anyio.create_task_group() as group:

        async def leader() -> None:
            with anyio.move_on_after(1):
                await archive.observe(ledger, "leader")

        group.start_soon(leader)
        await anyio.sleep(0.5)
        seen = await at_once(archive, ledger, *(f"f{number}" for number in range(followers)))

    assert 1 + SECONDS == since(began)
    assert {"x, the 2th"} == {each.text for each in seen.values()}
    assert (["x", "x"], followers - 1) == (archive.looked, sum(bool(each.same_as) for each in ends(ledger)))


async def test_a_follower_that_is_cancelled() -> None:
    """Nobody else hears of it."""
    archive, ledger = Archive(), await private_ledger()
    async with anyio.create_task_group() as group:
        group.start_soon(archive.observe, ledger, "leader")
        await anyio.sleep(0.5)
        with anyio.move_on_after(0.5) as scope:
            await archive.observe(ledger, "follower")

    assert scope.cancelled_caught
    assert (["x"], ["leader"]) == (archive.looked, [each.step for each in ends(ledger)])


async def test_a_leader_that_fails() -> None:
    """Its error is its own: those who waited make their own calls, side by side."""
    archive, ledger, began = Archive(failing=1), await private_ledger(), anyio.current_time()
    seen = await at_once(archive, ledger, "a", "b", "c")

    assert ["ToolFailed", None, None] == sorted((each.error for each in seen.values()), key=str, reverse=True)
    assert (["x"] * 3, 2 * SECONDS) == (archive.looked, since(began))
    assert {""} == {each.same_as for each in ends(ledger)}


async def test_a_follower_in_a_hurry() -> None:
    """Its deadline holds for waiting as well, and the other call goes on."""
    archive, ledger = Archive(), await private_ledger()
    async with anyio.create_task_group() as group:
        group.start_soon(archive.observe, ledger, "leader")
        await anyio.sleep(0.5)
        began = anyio.current_time()
        seen = await archive.observe(ledger, "follower", deadline=began + 1)
        assert ("ToolTimedOut", 1.0) == (seen.error, since(began))

    assert ["ToolTimedOut", None] == [each.observation.error for each in ends(ledger)]


class Rewriting(Hook):
    """Has everybody look at the same, and some not at all."""

    async def before_tool(self, wanted: ToolCall, call: Call) -> ToolCall:
        if call.label == "denied":
            raise ToolDenied(wanted.name, "not today")
        return replace(wanted, arguments='{"at": "y"}')

    async def after_tool(self, observation: Observation, call: Call) -> Observation:
        return replace(observation, text=f"{observation.text}, for {call.label}")


async def test_policies_come_first() -> None:
    """Calls are the same as hooks left them. What a hook denies is neither made nor taken, and each result is shown to hooks."""
    archive, ledger = Archive(), await private_ledger()
    seen: dict[str, Observation] = {}

    async def one(name: str, at: str) -> None:
        seen[name] = await archive.observe(ledger, name, at, hook=Rewriting())

    async with anyio.create_task_group() as group:
        for name, at in {"a": "1", "denied": "2", "b": "3"}.items():
            group.start_soon(one, name, at)

    assert ["y"] == archive.looked
    assert ("y, the 1th, for a", "y, the 1th, for b") == (seen["a"].text, seen["b"].text)
    assert "ToolDenied" == seen["denied"].error


async def test_grants_hold() -> None:
    """What is taken from another call counts among those that a step may make, and a tool that it lacks gives it nothing."""
    archive, ledger = Archive(cacheable=True), await private_ledger()
    await archive.observe(ledger, "a")
    granted = GrantedCalls(1)
    seen = [await archive.observe(ledger, "b", at, hook=granted) for at in "xy"]
    archive.tools = []
    ungranted = await archive.observe(ledger, "c")

    assert [None, "ToolDenied", "UnknownTool"] == [each.error for each in (*seen, ungranted)]


async def test_what_is_cacheable() -> None:
    """What such a tool said holds for the run: nobody asks it again, and the Facts say where it is from."""
    archive, ledger, began = Archive(cacheable=True), await private_ledger(), anyio.current_time()
    seen = [await archive.observe(ledger, who, at) for who, at in [("a", "x"), ("b", "x"), ("c", "y"), ("d", "x")]]

    assert ["x, the 1th", "x, the 1th", "y, the 2th", "x, the 1th"] == [each.text for each in seen]
    assert (["x", "y"], 2 * SECONDS) == (archive.looked, since(began))
    first = ends(ledger)[0].key
    assert ["", first, "", first] == [each.same_as for each in ends(ledger)]


async def test_errors_are_not_kept() -> None:
    """What failed is tried anew, and what came of that is kept."""
    archive, ledger = Archive(cacheable=True, failing=2), await private_ledger()
    seen = [await archive.observe(ledger, name) for name in "abcd"]

    assert ["ToolFailed", "ToolFailed", None, None] == [each.error for each in seen]
    assert 3 == len(archive.looked)


async def test_what_is_kept_outlives_the_process() -> None:
    """It is taken from the Facts: a resumed run asks no more than it would have asked."""
    archive, journal = Archive(cacheable=True, failing=1), MemoryJournal()
    ledger = await open_ledger(journal, "r", ports())
    for name, at in [("a", "failing"), ("b", "x")]:
        await archive.observe(ledger, name, at)
    await ledger.release()
    ledger = await reopen_ledger(journal, "r", ports())
    seen = [await archive.observe(ledger, name, at) for name, at in [("c", "x"), ("d", "failing")]]

    assert (["x, the 2th", "failing, the 3th"], ["failing", "x", "failing"]) == ([each.text for each in seen], archive.looked)


def test_no_more_is_kept_than_fits() -> None:
    """The oldest are forgotten first."""
    (look,) = Archive(cacheable=True).tools
    state = RunState()
    sharing = Sharing(state)
    for number in range(MOST_KEPT + 1):
        wanted = ToolCall(id="", name="look", arguments=f"{number}")
        flight = sharing.begin(look, wanted, Call(key=f"{number}"))
        flight.came = state.observations[f"{number}"] = Observation(call_id="", name="look", text=f"{number}")
        sharing.end(flight)

    kept = [sharing.kept(look, ToolCall(id="", name="look", arguments=f"{number}")) for number in (0, 1, MOST_KEPT)]
    assert [None, "1", f"{MOST_KEPT}"] == [taken and taken.observation.text for taken in kept]


@pytest.mark.parametrize("effect", ["keyed", "transactional", "unkeyed"])
async def test_only_what_is_read_can_be_kept(effect: Effect) -> None:
    """An effect that is not repeated has not happened."""
    with pytest.raises(ConfigurationError, match="cacheable"):
        ToolTraits(effect=effect, cacheable=True)
