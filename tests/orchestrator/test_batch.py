"""One observation for each call, in call order, whatever happens."""

import json
from dataclasses import replace

import anyio
import pytest

from orchestrator.agent import ReActAgent
from orchestrator.batch import Observed, observe_all
from orchestrator.errors import LeaseLost
from orchestrator.events.facts import ToolEnded, ToolStarted
from orchestrator.hooks import Hook, as_one
from orchestrator.journal.memory import MemoryJournal
from orchestrator.journalled import JournalledTools
from orchestrator.ledger import Ledger, open_ledger, private_ledger
from orchestrator.waiting import Waiting
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
    await journal.claim("r", holder="another", ttl=60)

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
