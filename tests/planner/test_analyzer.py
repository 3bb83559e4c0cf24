"""Verdicts."""

import json

import pytest

from planner.analyzer import PlanAnalyzer, structural_verdict
from planner.results import Achieved, Failed, Missing, Skipped, Succeeded
from registry.calls import Call
from registry.errors import Overloaded
from registry.testing import SCRIPTED_USAGE, ScriptedModel, asks
from tests.planner.drafts import plan, step

CALL = Call(run="r", scope="verdict/1", purpose="verdict")
PLAN = plan(step("a"), step("b"), step("c", "b"))
GOOD = {name: Succeeded(step=name, output=f"result of {name}") for name in "abc"}
FAILED = Failed(step="b", error="ToolFailed", message="broken")
SKIPPED = Skipped(step="c", because_of="b", reason="'b' did not succeed")
MIXED = {"a": GOOD["a"], "b": FAILED, "c": SKIPPED}
BAD = {"a": Failed(step="a", error="E", message="no"), "b": FAILED, "c": SKIPPED}


async def judged(model, results=GOOD):
    return await PlanAnalyzer(model).judge("the goal", PLAN, results, CALL)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(
            {"reasoning": "all there", "achieved": True, "confidence": 0.9, "missing": [], "final_answer": "42"},
            Achieved(reasoning="all there", confidence=0.9, final_answer="42"),
            id="achieved",
        ),
        pytest.param(
            {"reasoning": "half", "achieved": False, "confidence": 0.4, "missing": ["b", " "], "final_answer": "maybe"},
            Missing(reasoning="half", missing=("b",), confidence=0.4, final_answer="maybe"),
            id="missing",
        ),
        pytest.param(
            {"reasoning": "no b", "achieved": False, "confidence": 1},
            Missing(reasoning="no b", missing=("no b",), confidence=1.0),
            id="missing without a list",
        ),
        pytest.param(
            {"achieved": False}, Missing(reasoning="", missing=("the judge did not say what",), confidence=0.5), id="bare no"
        ),
        pytest.param({"achieved": True}, Achieved(reasoning="", confidence=0.5), id="bare yes"),
    ],
)
async def test_judge(answer, expected):
    """The judge's answer becomes a verdict that is either, with all that it said."""
    with ScriptedModel([asks("verdict", **answer)]) as model:
        found = await judged(model)

    assert expected == found.verdict
    assert SCRIPTED_USAGE == found.usage
    assert [CALL] == model.calls
    assert "result of a" in model.requests[0].messages[-1].text


@pytest.mark.anyio
async def test_nothing_succeeded():
    """Where no step succeeded the goal is not met, whatever a model would say: none is asked."""
    with ScriptedModel([]) as model:
        found = await judged(model, BAD)

    expected = ("a failed: no", "b failed: broken", "c skipped: 'b' did not succeed")
    assert Missing(reasoning="no step succeeded", missing=expected) == found.verdict
    assert 0 == found.usage.requests


@pytest.mark.anyio
async def test_outage():
    """An outage is an error, not a verdict."""
    with ScriptedModel([Overloaded("here", "busy")]) as model, pytest.raises(Overloaded):
        await judged(model)


@pytest.mark.anyio
@pytest.mark.parametrize("results", [pytest.param(GOOD, id="all succeeded"), pytest.param(MIXED, id="some failed")])
async def test_unreadable(results):
    """A judge that can't be read has not found the goal met, and the verdict says so, without confidence."""
    found = await judged(ScriptedModel(lambda _: "Looks fine to me!", abilities={}), results)

    assert ("missing", 0.0) == (found.verdict.kind, found.verdict.confidence)
    assert "a verdict that can be read" == found.verdict.missing[-1]
    assert "no valid verdict" in found.verdict.reasoning
    assert 2 == found.usage.requests


@pytest.mark.anyio
async def test_wrong_confidence_is_asked_again():
    """A confidence beyond 1 is not guessed into range."""
    wrong, right = ({"achieved": True, "confidence": number} for number in (95, 0.95))
    with ScriptedModel([json.dumps(wrong), json.dumps(right)], abilities={"json_mode": True}) as model:
        found = await judged(model)

    assert 0.95 == found.verdict.confidence


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        pytest.param(GOOD, Achieved(reasoning="every step succeeded"), id="all"),
        pytest.param(
            MIXED,
            Missing(reasoning="2 of 3 steps did not succeed", missing=("b failed: broken", "c skipped: 'b' did not succeed")),
            id="some",
        ),
        pytest.param(
            {"a": GOOD["a"], "b": GOOD["b"]},
            Missing(reasoning="1 of 3 steps did not succeed", missing=("c did not run",)),
            id="not all ran",
        ),
    ],
)
def test_structural_verdict(results, expected):
    """Without a model, the goal is met when every step succeeded; else it is said which did not."""
    assert expected == structural_verdict(PLAN, results)


@pytest.mark.parametrize(
    ("end", "optional", "achieved"),
    [
        pytest.param(FAILED, True, True, id="optional"),
        pytest.param(Skipped(step="b", because_of="b", reason="", untaken=True), False, True, id="not taken"),
        pytest.param(Skipped(step="b", because_of="x", reason="x failed"), False, False, id="skipped"),
        pytest.param(FAILED, False, False, id="failed"),
    ],
)
def test_what_a_goal_can_do_without(end, optional, achieved):
    """Optional steps, and those on branches that were not taken; but where nothing succeeded nothing was achieved."""
    either = plan(step("a"), step("b", optional=optional))

    assert achieved is isinstance(structural_verdict(either, {"a": GOOD["a"], "b": end}), Achieved)
    assert isinstance(structural_verdict(plan(step("b", optional=optional)), {"b": end}), Missing)
