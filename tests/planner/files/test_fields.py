"""Field errors in plain sentences."""

import pytest

from planner.errors import PlanError
from planner.files import draft_from


@pytest.mark.parametrize(
    ("steps", "place", "message"),
    [
        pytest.param(
            [{"id": "a", "depend_on": []}],
            "/steps/0/depend_on",
            "unknown field 'depend_on'; did you mean 'depends_on'?",
            id="unknown field",
        ),
        pytest.param(
            [{"id": "a", "kind": "tool", "tool": "t", "arg": 1}], "/steps/0/arg", "did you mean 'args'?", id="of the kind"
        ),
        pytest.param([{"task": "x"}], "/steps/0/id", "the field 'id' is missing", id="no id"),
        pytest.param([{"id": "a", "kind": "tool"}], "/steps/0/tool", "the field 'tool' is missing", id="no tool"),
        pytest.param(
            [{"id": "a", "kind": "maap"}],
            "/steps/0",
            "there is no kind 'maap'; did you mean 'map'? there are: agent, approval, map, plan, tool",
            id="kind",
        ),
        pytest.param([{"id": "a", "kind": "approval"}], "/steps/0/question", "the field 'question' is missing", id="no question"),
        pytest.param(
            [{"id": "a", "kind": "approval", "question": " "}],
            "/steps/0/question",
            "a text that says something is due, not the text ' '",
            id="blank question",
        ),
        pytest.param(
            [{"id": "a", "kind": "approval", "question": "?", "tool": "t"}],
            "/steps/0/tool",
            "unknown field 'tool'; there are: depends_on, estimate, id, in_doubt, kind, on_failure, optional, question",
            id="a field of another kind",
        ),
        pytest.param([{"id": "a", "in_doubt": "hope"}], "/steps/0/in_doubt", "not one of 'ask', 'retry'", id="policy"),
        pytest.param([{"id": True}], "/steps/0/id", "a text is due, not true", id="boolean id"),
        pytest.param([{"id": "a", "task": ["x"]}], "/steps/0/task", "a text is due, not a list", id="task"),
        pytest.param([{"id": "a", "tools": "search"}], "/steps/0/tools", "a list is due, not the text 'search'", id="tools"),
        pytest.param([{"id": "a", "depends_on": {}}], "/steps/0/depends_on", "a list is due, not an object", id="edges"),
        pytest.param([{"id": "a", "depends_on": ["b", None]}], "/steps/0/depends_on/1", "a text is due, not nothing", id="edge"),
        pytest.param([{"id": "a", "timeout": 0}], "/steps/0/timeout", "a number above 0 is due, not the number 0", id="timeout"),
        pytest.param(
            [{"id": "a", "on_failure": "x"}], "/steps/0/on_failure", "the text 'x' is not one of 'skip_dependents'", id="choice"
        ),
        pytest.param(
            [{"id": "a", "max_iterations": 1.5}],
            "/steps/0/max_iterations",
            "a whole number is due, not the number 1.5",
            id="whole",
        ),
        pytest.param([{"id": "a", "needs": [], "depends_on": []}], "/steps/0/needs", "unknown field 'needs'", id="two names"),
        pytest.param(["do x"], "/steps/0", "an object is due, not the text 'do x'", id="text for a step"),
        pytest.param("all", "/steps", "a list is due, not the text 'all'", id="text for all steps"),
    ],
)
def test_steps(steps, place, message):
    """A wrong field gives P012 at its place in the plan, in words that need no knowledge of the code."""
    with pytest.raises(PlanError) as raised:
        draft_from({"goal": "g", "steps": steps})

    (found,) = raised.value.diagnostics
    assert ("P012", "error", place) == (found.code, found.severity, found.place)
    assert message in found.message


def test_whole_plan():
    """Faults of the plan, its inputs and its steps are all named at once."""
    with pytest.raises(PlanError) as raised:
        draft_from({"gaol": "g", "inputs": {"x": {"typ": "string"}, "y": {"type": "date"}}, "steps": [None, {"id": []}]})

    assert ["/inputs/x/typ", "/inputs/y/type", "/steps/0", "/steps/1/id", "/gaol"] == [
        found.place for found in raised.value.diagnostics
    ]
    assert "did you mean 'type'?" in raised.value.diagnostics[0].message
    assert "did you mean 'goal'?" in raised.value.diagnostics[-1].message
