"""How often a tool may ask for another try."""

import json
from collections.abc import Sequence

import pytest

from orchestrator.agent import ReActAgent
from orchestrator.events.facts import StepStarted, ToolEnded
from orchestrator.events.recorded import Event
from orchestrator.journal.memory import MemoryJournal
from orchestrator.ledger import open_ledger, reopen_ledger
from orchestrator.patience import bounded
from registry.calls import Call
from registry.errors import ModelError, TryAgain, Unreachable
from registry.messages import Reply, ToolMessage
from registry.testing import ScriptedModel, asks
from registry.tools.function import tool
from registry.tools.registry import ToolRegistry
from registry.tools.tool import Observation
from tests.scenario import ports

CALL = Call(run="r", scope="step/x", iteration=9)


def made(retries: int = 0) -> ToolRegistry:
    @tool(retries=retries)
    async def book(day: str) -> str:
        """Book a table."""
        if len(day) != 10:
            raise TryAgain("give the day as 2026-01-31")
        return f"booked for {day}"

    return ToolRegistry([book])


def ended(iteration: int, error: str | None = "TryAgain", name: str = "book", scope: str = "step/x") -> ToolEnded:
    seen = Observation(call_id="c", name=name, text="...", error=error)
    return ToolEnded(key=f"{name}/{iteration}", scope=scope, step="x", iteration=iteration, observation=seen)


BEGUN = StepStarted(step="x", step_kind="agent", scope="step/x")


@pytest.mark.parametrize(
    ("before", "retries", "error"),
    [
        pytest.param([], 0, "TryAgain", id="the first time"),
        pytest.param([ended(1)], 0, "TryAgain", id="the second time"),
        pytest.param([ended(1), ended(2)], 0, "ToolFailed", id="once too often"),
        pytest.param([ended(1), ended(2), ended(3, "ToolFailed")], 0, "ToolFailed", id="and again"),
        pytest.param([ended(1), ended(2), ended(3, None)], 0, "TryAgain", id="it had succeeded meanwhile"),
        pytest.param([ended(1), ended(2, "BadArguments"), ended(3)], 0, "ToolFailed", id="another error is no success"),
        pytest.param([ended(1), ended(1), ended(9), ended(9)], 0, "TryAgain", id="calls of one reply are one"),
        pytest.param([ended(1), ended(2, name="other")], 0, "TryAgain", id="another tool"),
        pytest.param([ended(1), ended(2, scope="step/y")], 0, "TryAgain", id="another step"),
        pytest.param([ended(1), ended(2), BEGUN], 0, "TryAgain", id="a new attempt at the step"),
        pytest.param([ended(1)], 1, "ToolFailed", id="as often as the tool says"),
        pytest.param([ended(number) for number in range(1, 4)], 4, "TryAgain", id="and no sooner"),
    ],
)
def test_when_it_is_enough(before: Sequence[Event], retries: int, error: str) -> None:
    """A tool may ask twice in a row or as often as it has retries; after that its call has failed."""
    asked = Observation(call_id="c", name="book", text="try again: ...", error="TryAgain")

    assert error == bounded(made(retries), asked, CALL, before).error


@pytest.mark.parametrize("error", [None, "ToolFailed", "UnknownTool"])
def test_whatever_else_is_seen_stays_as_it_is(error: str | None) -> None:
    """Only asking for another try is counted."""
    seen = Observation(call_id="c", name="book", text="...", error=error)

    assert seen is bounded(made(), seen, CALL, [ended(1), ended(2)])


DAYS = ("soon", "later", "some day", "2026-01-31", "x")


def turns(*, broken: bool = False) -> list[Reply | str | ModelError]:
    asked: list[Reply | str | ModelError] = [asks("book", day=day) for day in DAYS]
    return [*asked[:2], Unreachable("m", "down")] if broken else [*asked, "done"]


async def read_by_the_model(model: ScriptedModel, journal: MemoryJournal, *, again: bool = False) -> list[str]:
    ledger = await (reopen_ledger if again else open_ledger)(journal, "r", ports())
    result = await ReActAgent(model, made()).run("book a table", call=Call(scope="step/x"), ledger=ledger)
    await ledger.release()
    return [message.text for message in result.transcript if isinstance(message, ToolMessage)]


READ = [
    "try again: give the day as 2026-01-31",
    "try again: give the day as 2026-01-31",
    "'book' failed: it was tried 3 times, and still said 'try again: give the day as 2026-01-31'; go on without it",
    "booked for 2026-01-31",
    "try again: give the day as 2026-01-31",
]


@pytest.mark.anyio
async def test_the_model_is_told_what_to_change() -> None:
    """Twice; then that it is no use. When it has got it right after all, the count begins anew."""
    with ScriptedModel(turns()) as model:
        assert READ == await read_by_the_model(model, MemoryJournal())


@pytest.mark.anyio
async def test_tries_of_an_earlier_life_count() -> None:
    """A run that was interrupted between two tries goes on counting where it was."""
    journal = MemoryJournal()
    assert READ[:2] == await read_by_the_model(ScriptedModel(turns(broken=True)), journal)

    with ScriptedModel(turns()[2:]) as model:
        assert READ == await read_by_the_model(model, journal, again=True)
    assert {"day": "some day"} == json.loads(model.requests[1].messages[-2].calls[0].arguments)
