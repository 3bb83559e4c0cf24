"""Steps out of whatever a model wrote."""

import pytest

from planner.plan import ApprovalStep, Step, ToolStep
from planner.repair.reading import entries_of
from tests.planner.drafts import step


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="nothing"),
        pytest.param("a plan", id="text"),
        pytest.param({}, id="empty object"),
        pytest.param({"steps": "a, b"}, id="text for steps"),
        pytest.param({"plan": [{"id": "a"}]}, id="another field"),
    ],
)
def test_no_plan(value):
    """Without a list of steps there is nothing to repair."""
    assert entries_of(value) is None


@pytest.mark.parametrize(
    ("written", "expected", "places"),
    [
        pytest.param({"id": "a", "task": "x"}, Step(id="a", task="x"), [], id="right"),
        pytest.param({"id": 1, "task": "x"}, Step(id="1", task="x"), [], id="number"),
        pytest.param({"id": ["a"], "task": "x"}, Step(id="", task="x"), [], id="unusable id"),
        pytest.param({"id": "a", "task": "x", "needs": ["b"]}, step("a", "b", task="x"), [], id="needs"),
        pytest.param({"id": "a", "task": "x", "depends_on": None}, Step(id="a", task="x"), [], id="null"),
        pytest.param(
            {"id": "a", "task": "x", "depends_on": "b"}, step("a", "b", task="x"), ["/steps/0/depends_on"], id="one as text"
        ),
        pytest.param(
            {"id": "a", "task": "x", "depends_on": "b, c;d"},
            step("a", "b", "c", "d", task="x"),
            ["/steps/0/depends_on"],
            id="many as text",
        ),
        pytest.param(
            {"id": "a", "task": "x", "depends_on": ""}, Step(id="a", task="x"), ["/steps/0/depends_on"], id="empty text"
        ),
        pytest.param(
            {"id": "a", "task": "x", "dependencies": 3}, step("a", "3", task="x"), ["/steps/0/dependencies"], id="one as number"
        ),
        pytest.param(
            {"id": "a", "task": "x", "depends_on": ["b", {"id": "c"}, None, 4]},
            step("a", "b", "4", task="x"),
            ["/steps/0/depends_on", "/steps/0/depends_on"],
            id="not all ids",
        ),
        pytest.param(
            {"id": "a", "task": "x", "depends_on": {"b": 1}}, Step(id="a", task="x"), ["/steps/0/depends_on"], id="an object"
        ),
        pytest.param(
            {"id": "a", "task": "x", "why": "so", "timeout": -1},
            Step(id="a", task="x"),
            ["/steps/0/timeout", "/steps/0/why"],
            id="unknown and wrong fields",
        ),
        pytest.param({"id": "a", "task": {"do": 1}}, Step(id="a"), ["/steps/0/task"], id="task of another type"),
        pytest.param({"id": "a", "task": "x", "kind": "map"}, Step(id="a", task="x"), ["/steps/0/kind"], id="unknown kind"),
        pytest.param(
            {"id": "a", "kind": "tool", "tool": "t", "args": {"q": 1}}, ToolStep(id="a", tool="t", args={"q": 1}), [], id="tool"
        ),
        pytest.param(
            {"id": "a", "kind": "approval", "question": "Send it?"},
            ApprovalStep(id="a", question="Send it?"),
            [],
            id="approval",
        ),
        pytest.param(
            {"id": "a", "task": "x", "kind": "approval", "question": " "},
            Step(id="a", task="x"),
            ["/steps/0/kind", "/steps/0/question"],
            id="approval of nothing",
        ),
        pytest.param(
            {"id": "a", "kind": "tool", "args": {"q": 1}},
            Step(id="a"),
            ["/steps/0/args", "/steps/0/kind"],
            id="tool without tool",
        ),
    ],
)
def test_entries(written, expected, places):
    """A step keeps every field that can be used; what goes is reported at its place."""
    entries, found = entries_of({"steps": [written]})

    assert [expected] == [entry.step for entry in entries]
    assert places == sorted(one.place for one in found)
    assert all("repair" == one.severity for one in found)


def test_unusable_entries():
    """An entry that is no object goes; the others keep their positions."""
    entries, found = entries_of([None, "do x", {"id": "a", "task": "y"}])

    assert [2] == [entry.at for entry in entries]
    assert ["/steps/0", "/steps/1"] == [one.place for one in found]


def test_other_fields():
    """Fields of the plan that a model has no say in go, and are reported unless they are empty."""
    _, found = entries_of({"goal": "g", "steps": [], "inputs": {}, "output": None, "limits": {"tokens": 1}})

    assert ["/limits"] == [one.place for one in found]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("when", "${inputs.x}"),
        ("verify", {"judge": "?"}),
        ("escalate", ["big"]),
        ("retries", 3),
        ("max_calls", 3),
        ("output_schema", {}),
        ("estimate", {}),
        ("kind", "map"),
        ("kind", "plan"),
    ],
)
def test_what_is_not_for_a_model_to_set(name, value):
    """How good a step must be, how often it is tried and what it may cost: whoever says so is told that nobody listens."""
    ((entry,), found) = entries_of([{"id": "a", "task": "x", name: value}])

    assert Step(id="a", task="x") == entry.step
    assert [("P012", f"/steps/0/{name}", "it is not for a model to set: dropped")] == [
        (one.code, one.place, one.message) for one in found
    ]
