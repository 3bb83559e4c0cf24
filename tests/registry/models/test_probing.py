"""What a model shows when it is asked, and what is made of that."""

import anyio
import pytest

from registry.errors import Garbled, ModelError, Overloaded, Refused, Truncated, Unauthorized, Unreachable
from registry.messages import Reply, Request
from registry.models.probing import PATIENCE, PLAIN, Outcome, judged, probe, probe_all
from registry.testing import Delay, FaultyModel, Line, ScriptedModel, asks, asks_many, says

pytestmark = pytest.mark.anyio

ALL = {"tool_call": True, "json_mode": True, "json_schema": True}
SHOWN = {
    PLAIN: says("Yes"),
    "tool_call": asks("note_word", word="tide"),
    "json_mode": says(' {"word": "tide"}\n'),
    "json_schema": says('{"hue": "red", "amount": 7}'),
}
CUT = Reply(text='{"word": "ti', finish="length")


def question_of(request: Request) -> str:
    """Which question this is."""
    if request.tools:
        return "tool_call"
    if request.response_format is None:
        return PLAIN
    return "json_mode" if request.response_format.schema is None else "json_schema"


def model(name: str = "m", **lines: Line) -> ScriptedModel:
    """A model that shows everything, except as said."""
    script = {**SHOWN, **lines}
    return ScriptedModel(lambda request: script[question_of(request)], name=name, abilities=ALL)


async def test_everything_is_shown() -> None:
    """Four questions, each with a small cap, and nothing to note."""
    asked = model()

    found = await probe(asked)

    assert ("m", True, ALL, ALL, ()) == (found.model, found.reachable, found.can, found.declared, found.notes)
    assert sorted(SHOWN) == sorted(map(question_of, asked.requests))
    assert {PLAIN: 1} == {question_of(each): each.max_tokens for each in asked.requests if each.max_tokens != 512}
    assert all(call.deadline is not None for call in asked.calls)


@pytest.mark.parametrize(
    ("ability", "reply", "why"),
    [
        pytest.param("tool_call", says("I noted it."), "it called no tool", id="no-call"),
        pytest.param("tool_call", asks("write", word="tide"), "it called 'write' instead of 'note_word'", id="another-tool"),
        pytest.param("tool_call", asks("note_word"), "wrong arguments for 'note_word': 'word' is a required", id="no-arguments"),
        pytest.param("tool_call", asks("note_word", word=1), "wrong arguments for 'note_word': word: 1 is not", id="misfits"),
        pytest.param("json_mode", says("Sure! tide"), "not valid JSON", id="prose"),
        pytest.param("json_mode", says('```json\n{"word": "tide"}\n```'), "not valid JSON", id="a-fence"),
        pytest.param("json_mode", says('{"words": "tide"}'), "does not fit the schema", id="another-member"),
        pytest.param("json_mode", CUT, "cut off at 512 tokens", id="cut-off"),
        pytest.param("json_schema", says('{"colour": "red", "number": 7}'), "does not fit the schema", id="own-members"),
        pytest.param("json_schema", says('{"hue": "red", "amount": "7"}'), "converted to fit", id="only-nearly"),
        pytest.param("json_schema", Refused("here", "unknown parameter"), "refused the request", id="refused"),
        pytest.param("json_schema", Garbled("here", "a web page"), "something unreadable", id="botched"),
    ],
)
async def test_what_is_not_shown_is_not_there(ability: str, reply: Line, why: str) -> None:
    """Only that ability is missing, and the note says why."""
    found = await probe(model(**{ability: reply}))

    assert {**ALL, ability: False} == found.can
    assert found.reachable
    assert 1 == len(found.notes)
    assert found.notes[0].startswith(f"{ability}: ")
    assert why in found.notes[0]


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(asks("functions.note_word", word="tide"), id="with-a-prefix"),
        pytest.param(asks_many(("think", {}), ("note_word", {"word": "tide"})), id="among-others"),
    ],
)
async def test_a_call_counts_however_it_comes(reply: Reply) -> None:
    """As the agent's loop would read it."""
    assert (await probe(model(tool_call=reply))).can["tool_call"]


@pytest.mark.parametrize("error", [Overloaded("here", "busy"), Unreachable("here", "no line"), Truncated("here", "cut")])
async def test_an_outage_proves_nothing(error: ModelError) -> None:
    """The ability may be there; the note tells what happened."""
    found = await probe(model(json_mode=error))

    assert {**ALL, "json_mode": None} == found.can
    assert (f"json_mode: {error}",) == found.notes


async def test_one_reply_is_enough_to_be_reachable() -> None:
    """An endpoint that does not like a cap of one token is there all the same."""
    found = await probe(model(**{PLAIN: Refused("here", "max_tokens is too small")}))

    assert (True, ALL) == (found.reachable, found.can)
    assert ("one token: here refused the request: max_tokens is too small",) == found.notes


async def test_who_answers_nothing_is_not_reachable() -> None:
    """No ability is known then, and one note has the error of the first question."""
    found = await probe(ScriptedModel(lambda _: Unauthorized("here", "wrong key"), abilities=ALL))

    assert not found.reachable
    assert dict.fromkeys(ALL) == found.can
    assert ("here did not accept the credentials: wrong key",) == found.notes


async def test_nobody_is_waited_for_longer_than_patience() -> None:
    """A model that sleeps is left; the questions share one wait."""
    began = anyio.current_time()

    found = await probe(FaultyModel(model(), [Delay(3600.0)] * 4))

    assert not found.reachable
    assert (f"m can't be reached: no reply within {PATIENCE:g} s",) == found.notes
    assert pytest.approx(PATIENCE, abs=1.0) == found.seconds
    assert pytest.approx(PATIENCE, abs=1.0) == anyio.current_time() - began


async def test_models_are_asked_side_by_side() -> None:
    """The slow one is waited for once, and the results are in the order of the models."""
    began = anyio.current_time()

    found = await probe_all([FaultyModel(model("slow"), [Delay(5.0)] * 4), model("quick")])

    assert ["slow", "quick"] == [each.model for each in found]
    assert pytest.approx(5.0, abs=1.0) == anyio.current_time() - began
    assert pytest.approx(5.0, abs=1.0) == found[0].seconds


async def test_queueing_is_no_slowness() -> None:
    """What a request waited for a slot of ours is not held against the model."""
    waited = Reply(text="Yes", waited=4.0)

    found = await probe(FaultyModel(model(**{PLAIN: waited}), [Delay(5.0)] * 4))

    assert pytest.approx(1.0, abs=0.5) == found.seconds


async def test_a_bug_is_not_a_finding() -> None:
    """What is no model's error goes on."""
    with pytest.raises(ExceptionGroup) as raised:
        await probe(ScriptedModel([]))

    assert raised.group_contains(AssertionError)


def test_the_verdict_is_made_of_outcomes_alone() -> None:
    """Seconds are those of the plain question."""
    outcomes = {name: Outcome(reply, at) for at, (name, reply) in enumerate(SHOWN.items())}

    assert 0.0 == judged("m", {}, outcomes).seconds
    assert {} == judged("m", {}, outcomes).declared
