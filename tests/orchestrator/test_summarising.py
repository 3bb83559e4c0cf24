"""Texts that are too long for their place, told in short."""

import pytest

from orchestrator import Answer, MemoryJournal, Orchestrator
from orchestrator.prompts import KEEP
from orchestrator.summarising import LEAST_TOKENS, MOST_WORDS, REPLY_TOKENS, Summariser, Told
from planner.planning import Condensed, Found
from planner.results import Succeeded
from registry.calls import Call
from registry.context import estimate_tokens, fit_texts, request_tokens
from registry.errors import Overloaded
from registry.messages import Reply, Request, UserMessage
from registry.testing import SCRIPTED_USAGE, Line, ScriptedModel, asks
from registry.usage import Usage
from tests.orchestrator.parts import judged, played
from tests.scenario import journal_of, ports

pytestmark = pytest.mark.anyio

CALL = Call(scope="step/d", purpose="step", label="look", attempt=2)
TEXT = "a word " * 4_000


def placed(tokens: int) -> str:
    (cut,) = fit_texts([TEXT], tokens)
    return cut


async def short(line: Line, tokens: int) -> Told:
    with ScriptedModel([line]) as model:
        return await Summariser(model).shorten(TEXT, placed(tokens), aim="Count", origins=("tool:web",), call=CALL)


async def test_a_summary_stands_before_the_beginning() -> None:
    """Of a long text the reader has the whole in short, and as much of it as there is room for."""
    told = await short("All of it is words.", 600)

    assert told.text.startswith("A summary of a result of 28,000 characters, which can't stand here in full:\n<result-")
    assert "\nAll of it is words.\n" in told.text
    assert "\n\na word a word" in told.text
    assert "characters cut" in told.text
    assert 500 < estimate_tokens(told.text) <= 600
    assert SCRIPTED_USAGE == told.usage


async def test_a_small_place_holds_the_summary_alone() -> None:
    """There is nothing to be gained from a few words of the beginning."""
    told = await short("All of it is words. " * 8, 160)

    assert "a word a word" not in told.text
    assert told.text.rstrip().endswith(">")


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        pytest.param(Overloaded("m", "busy"), Usage(), id="an error"),
        pytest.param(Reply(text="Half a summ", finish="length", usage=SCRIPTED_USAGE), SCRIPTED_USAGE, id="cut off"),
        pytest.param("  ", SCRIPTED_USAGE, id="blank"),
        pytest.param("x " * 4_000, SCRIPTED_USAGE, id="too long"),
    ],
)
async def test_what_can_not_be_told_stays_cut(line: Line, usage: Usage) -> None:
    """What the model took for it is told all the same."""
    told = await short(line, 300)

    assert placed(300) == told.text
    assert usage == told.usage


async def test_a_tiny_place_is_not_worth_a_call() -> None:
    """No model is asked to say it in a handful of words."""
    cut = placed(LEAST_TOKENS - 20)
    with ScriptedModel([]) as model:
        assert Told(text=cut) == await Summariser(model).shorten(TEXT, cut, aim="", origins=(), call=CALL)


@pytest.mark.parametrize(("most", "words"), [(300, 100), (90_000, MOST_WORDS)])
async def test_what_the_model_is_asked(most: int, words: int) -> None:
    """In so many words, for its purpose, within its own window, as a call of the step's own."""
    with ScriptedModel(["short"], context_window=4_000) as model:
        told = [UserMessage(text=TEXT, origins=("tool:web",))]
        await Summariser(model).tell(told, "general", aim="Count", most=most, call=CALL)

    (request,), (call,) = model.requests, model.calls
    assert f"in at most {words} words" in request.messages[0].text
    assert KEEP["general"] in request.messages[0].text
    assert request_tokens(request.messages) <= 3_000
    assert ("tool:web",) == request.messages[1].origins
    assert ("step/d", "compaction", "look", 2) == (call.scope, call.purpose, call.label, call.attempt)


@pytest.mark.parametrize(("cap", "most"), [(None, REPLY_TOKENS), (200, 200), (90_000, REPLY_TOKENS)])
async def test_a_reply_is_capped(cap: int | None, most: int) -> None:
    """A model that goes on and on is cut off; where all replies are to be short this one is too."""
    with ScriptedModel(["short"]) as model:
        await Summariser(model, cap).tell([UserMessage(text=TEXT)], "general", aim="", most=300, call=CALL)

    assert most == model.requests[0].max_tokens


async def test_what_a_planner_is_told_in_short() -> None:
    """All that was found together, each under its step."""
    found = [Found("a", "one", ("tool:web",)), Found("b", "two", ())]
    with ScriptedModel(["one and two"]) as model:
        told = await Summariser(model).condense(found, "the goal", 500, CALL)

    (request,) = model.requests
    assert Condensed(text="one and two", usage=SCRIPTED_USAGE) == told
    assert KEEP["planner_input"] in request.messages[0].text
    assert "Result of a:\none\n\nResult of b:\ntwo" in request.messages[1].text
    assert ("tool:web",) == request.messages[1].origins


def short_of(request: Request) -> str:
    """What the model for summaries says, by what it is asked for."""
    return "the plan's words" if KEEP["planner_input"] in request.messages[0].text else "the step's words"


def costs(answer: Answer) -> dict[str, tuple[str, Usage]]:
    return {name: (end.output, end.usage) for name, end in answer.steps.items() if isinstance(end, Succeeded)}


async def test_a_run_tells_in_short_once() -> None:
    """For a step and for the next plan; the calls are written down, counted, and not made again when the run is resumed."""
    read = {"id": "read", "task": "Read", "depends_on": []}
    first, second = [read, {"id": "use", "task": "Use", "depends_on": ["read"]}], [read | {"id": "more", "task": "More"}]
    model = played(
        plan=[asks("plan", steps=first), asks("plan", steps=second)],
        step=[TEXT, "used", "more"],
        verdict=[judged(False, missing=["more"]), judged(True)],
        synthesis=["the answer"],
        context_window=4_000,
    )
    short, journal = ScriptedModel(short_of, name="short"), MemoryJournal()
    models = {"general": model, "compaction": short}
    answer = await Orchestrator(models, journal=journal, ports=ports()).run("g")
    facts = await journal.read(answer.run_id)

    assert ["step_dependency", "planner_input"] == [
        hint for request in short.requests for hint, keep in KEEP.items() if keep in request.messages[0].text
    ]
    assert [("step", True), ("plan", True)] == [
        (fact.event.scope.split("/")[0], fact.event.reply.usage.requests > 0)
        for fact in facts
        if fact.event.kind == "model_replied" and fact.event.purpose == "compaction"
    ]
    assert any("the step's words" in request.messages[-1].text for request in model.requests)
    assert any("the plan's words" in request.messages[-1].text for request in model.requests)
    assert 2 == answer.steps["use"].usage.requests
    assert 10 == answer.usage.requests

    for cut in range(1, len(facts) + 1):
        told = [fact for fact in facts[:cut] if fact.event.kind == "model_replied" and fact.event.purpose == "compaction"]
        again = ScriptedModel(short_of, name="short")
        said = iter([each for each in facts[cut:] if each.event.kind == "model_replied" and each.event.purpose != "compaction"])
        rest = ScriptedModel(lambda _, said=said: next(said).event.reply, context_window=4_000)
        journal = await journal_of(answer.run_id, facts[:cut])
        resumed = await Orchestrator({"general": rest, "compaction": again}, journal=journal, ports=ports()).resume(answer.run_id)

        assert (answer.output, costs(answer)) == (resumed.output, costs(resumed))
        assert 2 == len(told) + len(again.requests)
