"""What a step's agent is given."""

import pytest

from orchestrator.briefing import briefed
from orchestrator.sight import Sight
from orchestrator.trying import Tries
from planner import Plan, Step
from planner.results import Failed, Skipped, StepResult, Succeeded

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
        pytest.param({"depends_on": ["f"]}, "do\n\nResult of f:\n(no result: broken)", id="failed"),
        pytest.param({"depends_on": ["s"]}, "do\n\nResult of s:\n(no result: f failed)", id="skipped"),
        pytest.param({"depends_on": ["a", "u"]}, "do\n\nResult of a:\nfound", id="not taken"),
    ],
)
def test_what_the_question_says(fields: dict[str, object], said: str) -> None:
    """The task, and what the dependencies found that it does not quote; of a branch that was not taken, nothing."""
    ends = (
        Succeeded(step="a", output="found", origins=("tool:web",)),
        Failed(step="f", error="E", message="broken"),
        Skipped(step="s", because_of="f", reason="f failed"),
        Skipped(step="u", because_of="u", reason="it does not hold", untaken=True),
    )
    brief = briefed(Step(**{"id": "b", "task": "do", **fields}), sight(*ends), FIRST, window=None)

    assert said == brief.question
    assert (("tool:web",) if "a" in fields["depends_on"] else ()) == brief.origins


def test_what_does_not_fit_is_kept_whole() -> None:
    """Long results are cut to their shares, and stay to be read by their steps' names."""
    long = Succeeded(step="long", output="x" * 9_000)
    brief = briefed(
        Step(id="b", task="do", depends_on=["a", "long"]), sight(Succeeded(step="a", output="found"), long), FIRST, window=2_000
    )

    assert {"long": long.output} == brief.shortened
    assert "Result of a:\nfound" in brief.question
    assert "characters cut" in brief.question
    assert 3_100 > len(brief.question)


def test_schema_and_earlier_try_stand_at_the_end() -> None:
    """Where small models keep to them best."""
    step = Step(id="b", task="do", output_schema={"type": "array"})
    failed = Failed(step="b", error="NotVerified", message="It was too long.", output="so long", origins=("tool:lint",))
    brief = briefed(step, sight(), FIRST.after(failed), window=None)

    assert brief.question.startswith("do\n\nYour final answer is one JSON value")
    told = "An earlier try was not good enough: It was too long.\nIts result was:\nso long"
    assert brief.question.endswith(f'{{"type": "array"}}\n\n{told}')
    assert ("tool:lint",) == brief.origins
