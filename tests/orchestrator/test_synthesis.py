"""One answer out of many results: never empty, never shown twice."""

from collections.abc import AsyncGenerator, Sequence

import pytest

from orchestrator.errors import DeniedByHook
from orchestrator.events.facts import AnswerWritten
from orchestrator.events.glimpses import AnswerBegan, AnswerPiece, AnswerReset
from orchestrator.hooks import Hook, as_one
from orchestrator.ledger import Ledger, private_ledger
from orchestrator.limits import Limits
from orchestrator.synthesis import CUT_OFF, Synthesis
from planner import Plan, Step
from planner.results import Achieved, Failed, Missing, Results, Skipped, Succeeded, Verdict
from registry.calls import Call
from registry.context import request_tokens
from registry.errors import Unreachable
from registry.messages import Piece, Reply, Request, Reset, TextPiece
from registry.models.layer import ModelLayer
from registry.models.model import Model
from registry.testing import CutAfter, FaultyModel, Line, ScriptedModel, says

pytestmark = pytest.mark.anyio

MET = Achieved(reasoning="all there", final_answer="The judge's answer.")
UNSURE = Achieved(reasoning="all there")
FOUND: Results = {"a": Succeeded(step="a", output="found a"), "b": Succeeded(step="b", output="found b")}


def plan(*, output: str | None = None) -> Plan:
    return Plan(goal="the goal", steps=(Step(id="a", task="one"), Step(id="b", task="two")), output=output)


async def write(
    model: Model,
    *,
    results: Results = FOUND,
    verdict: Verdict = MET,
    output: str | None = None,
    hook: Hook | None = None,
    ledger: Ledger | None = None,
) -> tuple[AnswerWritten, str]:
    """The answer as it was written, and what a watcher who obeys resets has in front of it at the end."""
    ledger = ledger or await private_ledger()
    written = await Synthesis(model, ledger, hooks=as_one(hook), limits=Limits()).write(plan(output=output), results, verdict)
    ledger.telling.end()
    return written, shown([recorded.event async for recorded in ledger.telling.watch()])


def shown(events: Sequence[object]) -> str:
    glimpses = [event for event in events if isinstance(event, AnswerBegan | AnswerPiece | AnswerReset)]
    assert [AnswerBegan()] == glimpses[:1]
    text, part = "", 0
    for glimpse in glimpses[1:]:
        match glimpse:
            case AnswerPiece():
                assert (part, len(text)) == (glimpse.part, glimpse.offset)
                text += glimpse.text
            case AnswerReset():
                assert text, "a reset of nothing"
                assert part + 1 == glimpse.part
                text, part = "", glimpse.part
    return text


async def test_the_answer_is_written_from_the_results() -> None:
    """One streamed call that reads goal, results and verdict; what watchers saw is what was written."""
    with ScriptedModel(["The whole answer."], name="writer") as model:
        written, seen = await write(model)

    assert "The whole answer." == written.text == seen
    assert ("writer", 1) == (written.by, written.usage.requests)
    asked = model.requests[0].messages[-1].text
    assert "## a\nfound a\n\n## b\nfound b" in asked
    assert "the goal" in asked
    assert ("synthesis", "synthesis") == (model.calls[0].purpose, model.calls[0].scope)


@pytest.mark.parametrize(
    ("line", "fault", "verdict", "answer"),
    [
        pytest.param("a b c", CutAfter(2), MET, MET.final_answer, id="breaks off"),
        pytest.param("a b c", CutAfter(0), MET, MET.final_answer, id="breaks at once"),
        pytest.param(Unreachable("m", "down"), None, MET, MET.final_answer, id="outage"),
        pytest.param("", None, MET, MET.final_answer, id="empty"),
        pytest.param(" \n", None, MET, MET.final_answer, id="blank"),
        pytest.param("", None, UNSURE, "## a\nfound a\n\n## b\nfound b", id="and the judge said nothing"),
        pytest.param(
            "",
            None,
            Missing(reasoning="", missing=("x", "y"), final_answer="Half."),
            "Half.\n\nThis is missing:\n- x\n- y",
            id="not achieved",
        ),
    ],
)
async def test_without_a_writer_the_judge_answers_then_the_results(
    line: Line, fault: CutAfter | None, verdict: Verdict, answer: str
) -> None:
    """What was shown is void first, so that a watcher ends with the answer and nothing else."""
    written, seen = await write(FaultyModel(ScriptedModel([line]), [fault]), verdict=verdict)

    assert answer == written.text == seen
    assert "fallback" == written.by
    assert isinstance(line, str) == bool(written.usage.requests)  # who was asked in vain is paid, who can't be reached is not


async def test_nothing_found_is_still_an_answer() -> None:
    """Where no step succeeded and nobody writes, the answer says so."""
    results: Results = {
        "a": Failed(step="a", error="X", message="broken"),
        "b": Skipped(step="b", because_of="a", reason="a failed"),
    }
    written, seen = await write(ScriptedModel([""]), results=results, verdict=Missing(reasoning="none", missing=("a",)))

    assert "No step gave a result.\n\nThis is missing:\n- a" == written.text == seen


async def test_a_stream_without_a_reply_is_broken() -> None:
    """Pieces alone are not an answer: the last one must be the reply."""

    class Mumbles(ModelLayer):
        async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
            yield TextPiece("The ans")

    written, seen = await write(Mumbles(ScriptedModel([])))

    assert "The judge's answer." == written.text == seen


async def test_a_restart_below_is_passed_on() -> None:
    """A model that begins anew voids what was shown, once, and not where nothing was shown."""

    class Restarts(ModelLayer):
        async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
            yield Reset("nothing yet")
            yield TextPiece("The ans")
            yield Reset("again")
            yield TextPiece("The answer")
            yield says("The answer")

    written, seen = await write(Restarts(ScriptedModel([])))

    assert "The answer" == written.text == seen


async def test_an_answer_that_was_cut_off_says_so() -> None:
    """A reply that hit its token limit carries a visible mark, for watchers too."""
    written, seen = await write(ScriptedModel([Reply(text="The beginning", finish="length")]))

    assert "The beginning" + CUT_OFF == written.text == seen


@pytest.mark.parametrize(
    ("output", "result", "answer"),
    [
        pytest.param("${steps.b.output}", Succeeded(step="b", output="its text"), "its text", id="output"),
        pytest.param("${steps.b.data}", Succeeded(step="b", output="", data={"x": [1]}), '{"x":[1]}', id="data"),
        pytest.param("${steps.b.data.x[0]}", Succeeded(step="b", output="", data={"x": ["one"]}), "one", id="part of it"),
    ],
)
async def test_a_plan_may_name_its_answer(output: str, result: Succeeded, answer: str) -> None:
    """The output of the step it names is the answer, and no model is asked."""
    with ScriptedModel([]) as model:
        written, seen = await write(model, results={**FOUND, "b": result}, output=output)

    assert answer == written.text == seen
    assert ("step:b", 0) == (written.by, written.usage.requests)


@pytest.mark.parametrize(
    ("output", "result"),
    [
        pytest.param("${steps.b.output}", Failed(step="b", error="X", message="broken"), id="failed"),
        pytest.param("${steps.b.output}", Skipped(step="b", because_of="a", reason="a failed"), id="skipped"),
        pytest.param("${steps.b.output}", Succeeded(step="b", output=" ", outcome="empty"), id="empty"),
        pytest.param("${steps.b.data}", Succeeded(step="b", output="plain text"), id="has no data"),
        pytest.param("${steps.b.data.y}", Succeeded(step="b", output="", data={"x": 1}), id="has no such part"),
    ],
)
async def test_a_named_answer_that_is_not_there_is_written(output: str, result: Succeeded | Failed | Skipped) -> None:
    """Where the named step left nothing to show, the answer is made from what exists."""
    with ScriptedModel(["From the rest."]) as model:
        written, seen = await write(model, results={**FOUND, "b": result}, output=output)

    assert "From the rest." == written.text == seen


@pytest.mark.parametrize("window", [512, 1024, 4096, 40_000])
async def test_many_results_fit_a_small_window(window: int) -> None:
    """Every result has its place in the question, each cut rather than the last ones dropped."""
    results = {f"s{n}": Succeeded(step=f"s{n}", output=f"finding {n} " + "x" * 5_000) for n in range(20)}
    with ScriptedModel(["ok"], context_window=window) as model:
        await write(model, results=results)

    (request,) = model.requests
    assert request_tokens(request.messages) <= window - window // 4
    assert all(f"## s{n}\n" in request.messages[-1].text for n in range(20))
    if window > 1024:
        assert all(f"finding {n} " in request.messages[-1].text for n in range(20))
        assert 20 == request.messages[-1].text.count("characters cut]")


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(Missing(reasoning="", missing=("y" * 50_000,)), id="a wordy judge"),
        pytest.param(Achieved(reasoning=""), id="a thousand results"),
    ],
)
async def test_whatever_is_too_long_the_question_fits(verdict: Verdict) -> None:
    """The request is legal for its window also where it is not the results that are long."""
    results = {f"s{n}": Succeeded(step=f"s{n}", output="x") for n in range(1000)}
    with ScriptedModel(["ok"], context_window=1024) as model:
        written, _ = await write(model, results=results, verdict=verdict)

    assert "ok" == written.text
    assert request_tokens(model.requests[0].messages) <= 768


async def test_what_a_failed_step_had_is_told_as_incomplete() -> None:
    """A step that ran out of laps still has something to say; one that left nothing has not."""
    results: Results = {
        "a": Failed(step="a", error="IterationsExhausted", message="no conclusion", output="half of it"),
        "b": Failed(step="b", error="Unreachable", message="down"),
    }
    with ScriptedModel(["ok"]) as model:
        await write(model, results=results, verdict=Missing(reasoning="", missing=("b",)))

    asked = model.requests[0].messages[-1].text
    assert "## a\n(incomplete: no conclusion)\nhalf of it" in asked
    assert "## b" not in asked


async def test_origins_come_along() -> None:
    """The question carries the origins of every result that it quotes."""
    results: Results = {**FOUND, "b": Succeeded(step="b", output="x", origins=("tool:read",))}
    with ScriptedModel(["ok"]) as model:
        await write(model, results=results)

    assert ("tool:read",) == model.requests[0].messages[-1].origins


async def test_a_written_reply_is_not_paid_for_again() -> None:
    """A run that died between the reply and the answer writes the same answer, also its mark."""
    line: Line = Reply(text="The beginning", finish="length")
    with ScriptedModel([line]) as model:
        first = await private_ledger()
        written, _ = await write(model, ledger=first)
        second = await private_ledger()
        for recorded in first.facts:
            await second.record(recorded.event)
        again, seen = await write(model, ledger=second)

    assert written == again
    assert written.text == seen


async def test_hooks_hear_the_answer() -> None:
    """Every piece goes to `on_stream` before anybody sees it."""
    heard: list[Piece] = []

    class Listens(Hook):
        async def on_stream(self, piece: Piece, call: Call) -> None:
            assert "synthesis" == call.purpose
            heard.append(piece)

    await write(ScriptedModel(["The answer"]), hook=Listens())

    assert [TextPiece("The "), TextPiece("answer")] == heard


async def test_a_policy_may_refuse_the_answer() -> None:
    """A refusal is no failure of the model: nothing else is shown in its place."""

    class Refuses(Hook):
        async def on_stream(self, piece: Piece, call: Call) -> None:
            raise ValueError("a secret")

    ledger = await private_ledger()
    with pytest.raises(DeniedByHook, match="a secret"):
        await write(ScriptedModel(["The answer"]), hook=Refuses(), ledger=ledger)

    ledger.telling.end()
    assert "" == shown([recorded.event async for recorded in ledger.telling.watch()])
