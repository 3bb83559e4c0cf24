"""What steps of several kinds have in common, and what is wrong with them by themselves."""

import pytest

from planner.check.structure import structural_errors
from planner.plan import ApprovalStep, Draft, ExpressionCheck, JudgeCheck, SchemaCheck, ToolCheck, ToolStep
from registry.messages import Json
from tests.planner.drafts import plan, step


def errors(*steps: dict[str, Json]) -> list[tuple[str, str, str]]:
    found = structural_errors(Draft.model_validate({"goal": "g", "inputs": {"i": {}}, "steps": steps}))
    return [(each.code, each.place, each.message) for each in found]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        pytest.param({"when": "${inputs.i} =="}, ("P026", "/steps/0/when", "at character 15"), id="condition"),
        pytest.param({"when": "${inputs.zz}"}, ("P010", "/steps/0/when", "${inputs.zz} names no input"), id="its reference"),
        pytest.param({"when": "${steps.a.status} == 1"}, ("P010", "/steps/0/when", "refers to itself"), id="its own end"),
        pytest.param({"verify": {"holds": "x"}}, ("P026", "/steps/0/verify/holds", "'x' is no value"), id="check"),
        pytest.param({"output_schema": {"type": "town"}}, ("P028", "/steps/0/output_schema", "type: 'town'"), id="schema"),
        pytest.param(
            {"verify": {"fits": {"required": 3}}}, ("P028", "/steps/0/verify/fits", "required: 3"), id="schema of a check"
        ),
        pytest.param({"task": "${item}"}, ("P010", "/steps/0/task", "in the step of a map only"), id="item"),
        pytest.param({"task": "${data.n}"}, ("P010", "/steps/0/task", "in the check of a step only"), id="own data"),
        pytest.param(
            {"task": "${index.x}"}, ("P010", "/steps/0/task", "'${index.x}' is not a reference"), id="path into a number"
        ),
        pytest.param({"task": " "}, ("P007", "/steps/0/task", "step 'a' has no task"), id="task"),
    ],
)
def test_what_is_wrong_with_a_step(fields: dict[str, Json], found: tuple[str, str, str]) -> None:
    """With the code, the exact place, and the reason."""
    ((code, place, message),) = errors({"id": "a", "task": "x", **fields})

    assert found[:2] == (code, place)
    assert found[2] in message


def test_a_condition_is_an_edge() -> None:
    """A step waits for what its condition looks at, and for what its check refers to."""
    checked = ToolStep(
        id="c", tool="t", when="${steps.a.status} == 'failed'", verify=ToolCheck(tool="u", args={"x": "${steps.b.output}"})
    )

    assert ("a", "b") == plan(step("a"), step("b"), checked).step("c").depends_on


def test_checks_name_tools_and_models() -> None:
    """They are granted and looked up like any other."""
    by_tool = step("a", verify=ToolCheck(tool="lint"), tools=("t",))
    by_judge = step("a", verify=JudgeCheck(judge="?", model="m"), model_hint="n", escalate=("m", "o"))

    assert [("/tools/0", "t"), ("/verify/tool", "lint")] == list(by_tool.tool_names())
    assert [("/model_hint", "n"), ("/escalate/0", "m"), ("/escalate/1", "o"), ("/verify/model", "m")] == list(
        by_judge.model_names()
    )
    assert [] == list(step("a", verify=SchemaCheck(fits={})).tool_names())
    assert [("/task", "do a"), ("/verify/holds", "true")] == list(step("a", verify=ExpressionCheck(holds="true")).texts())


@pytest.mark.parametrize(
    ("fields", "policy"),
    [
        ({}, "skip_dependents"),
        ({"optional": True}, "continue"),
        ({"optional": True, "on_failure": "stop"}, "stop"),
        ({"on_failure": "replan"}, "replan"),
    ],
)
def test_what_a_failure_does(fields: dict[str, object], policy: str) -> None:
    """Nothing waits for an optional step in vain, unless it says otherwise."""
    assert policy == ApprovalStep(id="a", question="?", **fields).policy
