"""What a step's agent is given."""

import pytest

from orchestrator.briefing import briefed
from orchestrator.prompts import KEEP
from orchestrator.sight import Sight
from orchestrator.summarising import Summariser
from orchestrator.trying import Tries
from planner import Plan, Step
from planner.results import Failed, Skipped, StepResult, Succeeded
from registry.context import estimate_tokens
from registry.errors import Overloaded
from registry.testing import SCRIPTED_USAGE, ScriptedModel

pytestmark = pytest.mark.anyio

FIRST = Tries(step=Step(id="b", task="do"), before=(), first=1)


def sight(*ends: StepResult) -> Sight:
    return Sight(plan=Plan(goal="g", steps=[Step(id="x", task="x")]), inputs={}, results={end.step: end for end in ends})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"depends_on": ["a"]}, "do\n\nResult of a:\nfound", id="dependency"),
        pytest.param({"task": "do ${steps.a.output}", "depends_on": ["a"]}, "do found", id="quoted"),
        pytest.param(
            {"when": "${steps.a.output} == 'found'", "depends_on": ["a"]},
            "do\n\nResult of a:\nfound",
            id="looked at by a condition",
        ),
        pytest.param({"task": "${steps.d.data.n}", "depends_on": ["d"]}, "7", id="nothing but a number"),
        pytest.param({"depends_on": ["f"]}, "do\n\nResult of f:\n(no result: broken)", id="failed"),
        pytest.param({"depends_on": ["s"]}, "do\n\nResult of s:\n(no result: f failed)", id="skipped"),
        pytest.param({"depends_on": ["a", "u"]}, "do\n\nResult of a:\nfound", id="not taken"),
    ],
)
async def test_what_the_question_says(fields: dict[str, object], said: str) -> None:
    """The task, and what the dependencies found that it does not quote; of a branch that was not taken, nothing."""
    ends = (
        Succeeded(step="a", output="found", origins=("tool:web",)),
        Succeeded(step="d", output='{"n": 7}', data={"n": 7}),
        Failed(step="f", error="E", message="broken"),
        Skipped(step="s", because_of="f", reason="f failed"),
        Skipped(step="u", because_of="u", reason="it does not hold", untaken=True),
    )
    brief = await briefed(Step(**{"id": "b", "task": "do", **fields}), sight(*ends), FIRST, window=None)

    assert said == brief.question
    assert (("tool:web",) if "a" in fields["depends_on"] else ()) == brief.origins


async def test_what_does_not_fit_is_kept_whole() -> None:
    """Long results are cut to their shares, and stay to be read by their steps' names."""
    long = Succeeded(step="long", output="x" * 9_000)
    brief = await briefed(
        Step(id="b", task="do", depends_on=["a", "long"]), sight(Succeeded(step="a", output="found"), long), FIRST, window=2_000
    )

    assert {"long": long.output} == brief.shortened
    assert "Result of a:\nfound" in brief.question
    assert "characters cut" in brief.question
    assert 3_100 > len(brief.question)


async def test_what_does_not_fit_is_told_in_short() -> None:
    """By the model for that, each in its own place, with what it is for; the whole stays to be read, and the cost is told."""
    long = [Succeeded(step=name, output=f"{name} " * 9_000, origins=(f"tool:{name}",)) for name in ("one", "two")]
    step = Step(id="b", task="Compare both", depends_on=["one", "few", "two"])
    ends = sight(*long, Succeeded(step="few", output="a few words"))
    with ScriptedModel(["In short: one.", Overloaded("m", "busy")]) as model:
        brief = await briefed(step, ends, FIRST, window=4_000, summariser=Summariser(model))

    cut = await briefed(step, ends, FIRST, window=4_000)
    assert "A summary of a result of 36,000 characters" in brief.question
    assert "In short: one." in brief.question
    assert "Result of few:\na few words" in brief.question
    assert cut.question.partition("Result of two:")[2] == brief.question.partition("Result of two:")[2]
    assert cut.shortened == brief.shortened
    assert SCRIPTED_USAGE == brief.usage
    assert ("tool:one", "tool:two") == brief.origins
    assert estimate_tokens(brief.question) <= 2_000
    asked, _ = model.requests
    assert KEEP["step_dependency"] in asked.messages[0].text
    assert "What it is needed for: Compare both" in asked.messages[1].text
    assert ("tool:one",) == asked.messages[1].origins
    assert {"compaction"} == {call.purpose for call in model.calls}


async def test_a_model_that_can_not_be_had_is_asked_once() -> None:
    """A step with many long results does not wait for it again and again."""
    long = [Succeeded(step=name, output=f"{name} " * 9_000) for name in ("one", "two", "three")]
    step = Step(id="b", task="do", depends_on=["one", "two", "three"])
    with ScriptedModel([Overloaded("m", "busy")]) as model:
        brief = await briefed(step, sight(*long), FIRST, window=4_000, summariser=Summariser(model))

    assert (await briefed(step, sight(*long), FIRST, window=4_000)).question == brief.question


async def test_schema_and_earlier_try_stand_at_the_end() -> None:
    """Where small models keep to them best."""
    step = Step(id="b", task="do", output_schema={"type": "array"})
    failed = Failed(step="b", error="NotVerified", message="It was too long.", output="so long", origins=("tool:lint",))
    brief = await briefed(step, sight(), FIRST.after(failed), window=None)

    assert brief.question.startswith("do\n\nYour final answer is one JSON value")
    told = "An earlier try was not good enough: It was too long.\nIts result was:\nso long"
    assert brief.question.endswith(f'{{"type": "array"}}\n\n{told}')
    assert ("tool:lint",) == brief.origins
