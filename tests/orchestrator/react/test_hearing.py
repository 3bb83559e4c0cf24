"""When an agent hears what the user says, and that it hears it there again."""

import pytest
from msgspec.structs import replace

from orchestrator.agent import AgentResult, ReActAgent
from orchestrator.events.facts import InterruptHeard, InterruptReceived, ModelReplied
from orchestrator.hooks import Hook
from orchestrator.interrupts import InterruptQueue
from orchestrator.journal.memory import MemoryJournal
from orchestrator.ledger import Ledger, open_ledger, private_ledger, reopen_ledger
from orchestrator.react.hearing import Ears
from registry.calls import Call
from registry.messages import AssistantMessage, Reply, Request, UserMessage
from registry.testing import ScriptedModel
from registry.tools.function import tool
from registry.tools.tool import Observation
from tests.orchestrator.react.dialects import BOTH, Spoken
from tests.scenario import journal_of, ports

pytestmark = pytest.mark.anyio

CALL = Call(run="r", scope="step/x", label="x")


def heard(message: UserMessage | None) -> str | None:
    return None if message is None else message.text.partition("\n")[2]


async def replies(ledger: Ledger, *numbers: int, call: Call = CALL) -> None:
    """So many replies of the loop are written down."""
    for n in numbers:
        suffix = "" if call.attempt == 1 else f"@{call.attempt}"
        key = f"{call.scope}/{call.purpose}/{n}/1{suffix}"
        await ledger.record(
            ModelReplied(
                key=key, scope=call.scope, purpose=call.purpose, step="x", iteration=n, reply=Reply(text=str(n)), seconds=0.0
            )
        )


async def test_what_is_heard_is_written_down() -> None:
    """All messages since the last place are one, and a Fact says where they were heard; silence is not written down."""
    ledger, queue = await private_ledger(), InterruptQueue()
    ears = Ears(queue, ledger, CALL)

    assert await ears.hear() is None
    queue.put("stop")
    queue.put("go")
    assert "stop\ngo" == heard(await ears.hear())

    fact = InterruptHeard(scope="step/x", attempt=1, step="x", place=2, texts=("stop", "go"))
    assert [fact] == [recorded.event for recorded in ledger.facts]


async def test_a_resumed_agent_hears_at_the_same_places() -> None:
    """Where it heard nothing and went on, it hears nothing again; what was never heard, it hears when all is told again."""
    ledger, queue = await private_ledger(), InterruptQueue()
    ears = Ears(queue, ledger, CALL)
    await ears.hear()
    await replies(ledger, 1)
    ears.replied()
    queue.put("one")
    await ears.hear()
    await replies(ledger, 2)
    queue.put("two")

    again = Ears(queue, ledger, CALL)
    told = [heard(await again.hear())]
    for _ in (1, 2):
        again.replied()
        told.append(heard(await again.hear()))

    assert [None, "one", "two"] == told


async def test_a_queue_that_does_not_have_them_any_more_makes_no_difference() -> None:
    """What was heard is in the journal; a message that comes later is heard whatever the queue has forgotten."""
    ledger, queue = await private_ledger(), InterruptQueue()
    queue.put("one")
    await Ears(queue, ledger, CALL).hear()
    fresh = InterruptQueue()
    again = Ears(fresh, ledger, CALL)

    assert "one" == heard(await again.hear())
    fresh.put("two")
    assert "two" == heard(await again.hear())


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(CALL, scope="step/y"), id="another step"),
        pytest.param(replace(CALL, attempt=2), id="another attempt"),
        pytest.param(replace(CALL, purpose="selection"), id="another purpose"),
    ],
)
async def test_others_are_others(other: Call) -> None:
    """Neither what they heard nor what they were told counts."""
    ledger, queue = await private_ledger(), InterruptQueue()
    queue.put("one")
    if other.purpose == CALL.purpose:
        await Ears(queue, ledger, other).hear()
    await replies(ledger, 1, 2, call=other)

    assert "one" == heard(await Ears(queue, ledger, CALL).hear())


async def test_what_no_reply_has_taken_into_account() -> None:
    """A message is unanswered until a reply comes that can be used, whether it was heard or not."""
    ledger, queue = await private_ledger(), InterruptQueue()
    ears = Ears(queue, ledger, CALL)
    queue.put("one")
    assert ("one",) == ears.unanswered
    await ears.hear()
    queue.put("two")
    assert ("one", "two") == ears.unanswered
    ears.answered()
    assert ("two",) == ears.unanswered


class User(Hook):
    """Says something to a run in each of its iterations, once."""

    def __init__(self, ledger: Ledger, queue: InterruptQueue) -> None:
        self.ledger, self.queue = ledger, queue
        for recorded in ledger.facts:
            if isinstance(recorded.event, InterruptReceived):
                queue.put(recorded.event.text)

    @property
    def said(self) -> list[str]:
        return [recorded.event.text for recorded in self.ledger.facts if isinstance(recorded.event, InterruptReceived)]

    async def after_iteration(self, iteration: int, reply: Reply, call: Call) -> None:
        await self.say(f"in {iteration}")

    async def after_tool(self, observation: Observation, call: Call) -> Observation:
        await self.say(f"behind the tool of {call.iteration}")
        return observation

    async def say(self, text: str) -> None:
        if text not in self.said and len(self.said) < 6:
            await self.ledger.record(InterruptReceived(text=text))
            self.queue.put(text)


async def lived(ledger: Ledger, spoken: Spoken) -> tuple[AgentResult, int]:
    """An agent that looks twice and then concludes, with a user who keeps interrupting; how often its model was asked."""

    @tool(effect="pure")
    async def look(n: int) -> str:
        """Look at one."""
        return f"saw {n}"

    def script(request: Request) -> Reply:
        seen = sum("saw" in message.text for message in request.messages)
        return spoken.call("look", n=seen) if seen < 2 else spoken.conclude(f"done after {len(request.messages)} messages")

    model, queue = ScriptedModel(script, abilities=spoken.abilities), InterruptQueue()
    agent = ReActAgent(model, [look], hooks=User(ledger, queue), interrupts=queue)
    return await agent.run("go", ledger=ledger, call=CALL), len(model.requests)


@BOTH
async def test_cut_after_every_fact(spoken: Spoken) -> None:
    """Wherever a run with interrupts is cut, the resumed agent finds every reply again and nothing that was said is lost."""
    first = await open_ledger(MemoryJournal(), "r", ports())
    whole, _ = await lived(first, spoken)
    facts = tuple(first.facts)
    assert {"in 1", "behind the tool of 1"} < {line for text in texts(whole) for line in text}

    for length in range(1, len(facts) + 1):  # the last one: it is told again without being asked anything
        ledger = await reopen_ledger(await journal_of("r", facts[:length]), "r", ports())
        known = sum(isinstance(recorded.event, ModelReplied) for recorded in facts[:length])
        result, asked = await lived(ledger, spoken)
        laps = sum(isinstance(message, AssistantMessage) for message in result.transcript)

        assert ("completed", ()) == (result.outcome, result.unanswered)
        assert laps == known + asked, "no reply that was there is asked for again"
        assert [each for text in texts(result) for each in text] == User(ledger, InterruptQueue()).said


def texts(result: AgentResult) -> list[list[str]]:
    """What the agent heard, each time."""
    return [message.text.splitlines()[1:] for message in result.transcript if message.text.startswith("[USER INTERRUPT]")]
