"""A long conversation is told in short by a model, and where that can't be done the oldest is left out."""

from collections.abc import Sequence

import pytest

from orchestrator.compacting import MOST_IN_VAIN, Compactor, NothingGained
from orchestrator.events.facts import ModelReplied
from orchestrator.journalled import JournalledModel
from orchestrator.ledger import private_ledger
from orchestrator.prompts import KEEP, Hint
from registry.calls import Call
from registry.context import Compaction, ContextGuard, Fitted, request_tokens
from registry.errors import Overloaded
from registry.messages import Message, Reply, UserMessage
from registry.testing import SCRIPTED_USAGE, Line, ScriptedModel
from registry.usage import Usage
from registry.wire.legal import legal
from tests.registry.context.messages import GOAL, SYSTEM, in_json, native

pytestmark = pytest.mark.anyio

CALL = Call(scope="step/d", purpose="step", label="look", iteration=7)
GUARD = ContextGuard(4_000)
HANDLES = {f"c{n}": f"look-{n}" for n in range(99)}


def said(rounds: int, talk=native) -> list[Message]:
    return [SYSTEM, GOAL, *talk(rounds, "x" * 600)]


async def laps(
    model: ScriptedModel | None, *rounds: int, guard: ContextGuard = GUARD, hint: Hint = "react_iteration"
) -> list[Fitted]:
    """The same conversation, as it grows."""
    compactor = Compactor(model, guard)
    return [await compactor.fitted(said(so_many), (), CALL, hint=hint, handles=HANDLES) for so_many in rounds]


def summaries(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages if message.text.startswith("[HISTORY]")]


async def test_what_fits_needs_no_model() -> None:
    """Nothing is asked and nothing changes, and that goes on for as long as old results can be told in a line."""
    fitted = (await laps(ScriptedModel([]), 3, 12))[-1]

    assert fitted.compaction is None
    assert Usage() == fitted.usage


@pytest.mark.parametrize("talk", [native, in_json])
async def test_the_oldest_is_told_in_short(talk) -> None:
    """A summary stands for the oldest messages; system prompt, pins and the newest messages stay as they are."""
    whole = said(30, talk)
    with ScriptedModel(["Pages 0 to 20 were looked at."]) as model:
        fitted = await Compactor(model, GUARD).fitted(whole, (), CALL, handles=HANDLES)

    sent = fitted.messages
    legal(sent)
    assert request_tokens(sent) <= 3_000
    assert (SYSTEM, GOAL) == sent[:2]
    assert sent[2].text == summaries(sent)[0]
    assert "Pages 0 to 20 were looked at." in sent[2].text
    assert ("tool:look",) == sent[2].origins
    assert "[… " not in sent[-1].text
    assert whole[-1].text in sent[-1].text
    assert Compaction(original_messages=62, kept_messages=len(sent) - 1) == fitted.compaction
    assert SCRIPTED_USAGE == fitted.usage


async def test_handles_survive_a_summary() -> None:
    """What was told in short can be read whole, whatever the model wrote."""
    with ScriptedModel(["Pages were looked at."]) as model:
        (fitted,) = await laps(model, 30)

    assert summaries(fitted.messages)[0].endswith("look-19, look-20, look-21, look-22, look-23")


async def test_a_summary_is_made_once_and_never_summarised() -> None:
    """Later laps use it as it stands; what came since gets one of its own, and pins in between stay."""
    interrupt = UserMessage(text="[USER INTERRUPT]\nalso the last page", pinned=True)
    with ScriptedModel(["First part.", "Second part."]) as model:
        compactor = Compactor(model, GUARD)
        first = await compactor.fitted(said(30), (), CALL)
        again = await compactor.fitted(said(31), (), CALL)
        later = [*said(31), interrupt, *native(30, "y" * 600)]
        second = await compactor.fitted(later, (), CALL)

    assert summaries(first.messages) == summaries(again.messages)
    assert again.compaction is None
    assert [*summaries(first.messages), summaries(second.messages)[-1]] == summaries(second.messages)
    assert "Second part." in summaries(second.messages)[1]
    assert interrupt in second.messages
    assert not any("First part." in message.text for request in model.requests for message in request.messages)
    assert request_tokens(second.messages) <= 3_000


async def test_the_request_for_a_summary() -> None:
    """It says what for, frames what is told as history, fits its own model, and is a call of the step's for that purpose."""
    model = ScriptedModel(["So it was."], context_window=2_000)
    await laps(model, 30, hint="general")

    (request,), (call,) = model.requests, model.calls
    system, asked = request.messages
    assert KEEP["general"] in system.text
    assert asked.text.startswith("What the agent was to do: find the answer\n\n<history-")
    assert ("tool:look",) == asked.origins
    assert request_tokens(request.messages) <= 1_500
    assert ("step/d", "compaction", "look", 7) == (call.scope, call.purpose, call.label, call.iteration)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(Overloaded("m", "busy"), id="an error"),
        pytest.param(Reply(text="Half a summ", finish="length"), id="cut off"),
        pytest.param(Reply(text="I won't.", finish="refused"), id="refused"),
        pytest.param(" \n", id="blank"),
        pytest.param("x" * 9_000, id="no shorter"),
    ],
)
async def test_where_a_summary_fails_the_oldest_is_left_out(line: Line) -> None:
    """The request is legal and fits all the same."""
    with ScriptedModel([line]) as model:
        (fitted,) = await laps(model, 30)

    (plain,) = await laps(None, 30)
    assert plain.messages == fitted.messages
    assert plain.compaction == fitted.compaction
    assert [] == summaries(fitted.messages)


async def test_a_model_that_fails_is_not_asked_for_ever() -> None:
    """After some failures in a row the guard does alone."""
    with ScriptedModel([Overloaded("m", "busy")] * MOST_IN_VAIN) as model:
        *_, fitted = await laps(model, 30, 31, 32, 33)

    assert request_tokens(fitted.messages) <= 3_000


async def test_a_failure_that_is_over_does_not_count() -> None:
    """Only failures in a row do."""
    with ScriptedModel([Overloaded("m", "busy"), "Well.", Overloaded("m", "busy"), "Well again."]) as model:
        *_, fitted = await laps(model, 30, 31, 60, 61)

    assert 2 == len(summaries(fitted.messages))


async def test_summaries_that_save_nothing_end_it() -> None:
    """Twice in a row hardly shorter than what it was to replace: an error with both sizes, instead of going round for ever."""
    with (
        ScriptedModel(["x" * 9_000, "x" * 9_000]) as model,
        pytest.raises(NothingGained, match="of 2259 tokens took 3138") as raised,
    ):
        await laps(model, 30, 31)

    assert raised.value.after > 0.8 * raised.value.before


async def test_a_stretch_too_short_is_not_worth_a_call() -> None:
    """Where next to nothing but pins and the newest messages is there, no model can help."""
    huge = UserMessage(text="x" * 60_000, pinned=True)

    fitted = await Compactor(ScriptedModel([]), GUARD).fitted([SYSTEM, huge, *native(1, "found")], (), CALL)

    assert request_tokens(fitted.messages) <= 3_000


async def test_more_that_is_left_out_is_told_once() -> None:
    """A lap in which no more is left out than in the one before is no news."""
    told = [fitted.compaction for fitted in await laps(None, 30, 31, 60)]

    assert told[0] is not None
    assert told[1] is None
    assert told[2] is not None


async def test_a_summary_is_a_call_of_the_run() -> None:
    """It is journalled under its purpose; who asks the same again gets it without a model."""
    ledger = await private_ledger()
    with ScriptedModel(["So it was."]) as model:
        first = await Compactor(JournalledModel(model, ledger), GUARD).fitted(said(30), (), CALL)
        ledger.rewind(CALL.scope)
        again = await Compactor(JournalledModel(model, ledger), GUARD).fitted(said(30), (), CALL)

    (fact,) = [recorded.event for recorded in ledger.facts]
    assert isinstance(fact, ModelReplied)
    assert fact.key.startswith("step/d/compaction/")
    assert first == again
