"""Plans as files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlanError
from planner.files import draft_from, plain_plan, read_plan, write_plan
from planner.plan import ApprovalStep, Input, ToolStep
from tests.planner.drafts import draft, drafts, step

YAML = """
goal: Compare two cities
inputs:
  city: {description: the first one}
steps:
  - id: 1
    task: Look up ${inputs.city}
    tool_hint: search
  - id: both
    task: Compare
    needs: 1
output: ${steps.both.output}
"""

JSON = """{"goal": "Compare two cities", "inputs": {"city": {"description": "the first one"}},
"steps": [{"id": "1", "task": "Look up ${inputs.city}", "tool_hint": "search"},
{"id": "both", "task": "Compare", "depends_on": ["1"]}], "output": "${steps.both.output}"}"""

EXPECTED = draft(
    step("1", task="Look up ${inputs.city}", tool_hint="search"),
    step("both", "1", task="Compare"),
    goal="Compare two cities",
    inputs={"city": Input(description="the first one")},
    output="${steps.both.output}",
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param(YAML, "p.yaml", id="yaml"),
        pytest.param(YAML, "p.YML", id="yml"),
        pytest.param(YAML, "-", id="YAML by content"),
        pytest.param(JSON, "p.json", id="json"),
        pytest.param(JSON, "-", id="JSON by content"),
        pytest.param(JSON, "p.yaml", id="JSON in a YAML file"),
        pytest.param("\ufeff" + JSON, "p.json", id="byte order mark"),
    ],
)
def test_same_plan(text, name):
    """JSON and YAML are the same plan."""
    assert EXPECTED == read_plan(text, name=name)


@pytest.mark.parametrize(
    ("text", "name", "code", "message"),
    [
        pytest.param(" \n", "p.yaml", "P014", "p.yaml: there is nothing in it", id="empty"),
        pytest.param("goal: g\nsteps: *x", "p.yaml", "P014", "p.yaml: the alias", id="not our YAML"),
        pytest.param(YAML, "p.json", "P014", "not JSON", id="YAML in a JSON file"),
        pytest.param("#" * 4_000_001, "p.yaml", "P014", "4,000,001 bytes are too many", id="large"),
        pytest.param("- id: a", "p.yaml", "P012", "a plan is an object", id="list"),
        pytest.param("just text", "p.txt", "P012", "a plan is an object", id="text"),
        pytest.param("goal: [g]", "p.yaml", "P012", "a text is due, not a list", id="field"),
    ],
)
def test_refused(text, name, code, message):
    """A file that holds no plan says why."""
    with pytest.raises(PlanError) as raised:
        read_plan(text, name=name)

    (found,) = raised.value.diagnostics
    assert code == found.code
    assert message in found.message


def test_short():
    """What has its default is not written; other steps than agents' keep their kind."""
    steps = (step("a"), ToolStep(id="b", tool="t", depends_on=("a",)), ApprovalStep(id="c", question="Well?", depends_on=("b",)))
    short = plain_plan(draft(*steps, inputs={"i": Input(default=None)}))

    assert {
        "goal": "the goal",
        "inputs": {"i": {"default": None}},
        "steps": [
            {"id": "a", "task": "do a"},
            {"id": "b", "kind": "tool", "tool": "t", "depends_on": ["a"]},
            {"id": "c", "kind": "approval", "question": "Well?", "depends_on": ["b"]},
        ],
    } == short
    assert draft(*steps) == draft_from(plain_plan(draft(*steps)))


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["no", "1e5", "~", "2026-01-01", "a\nb", " x\n\n", "<<", "=", "&a", "*a", "!t", "'", "#"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=5), _values, max_size=3), st.text(max_size=20))
def test_arguments_round_trip(args, task):
    """Whatever a step holds, written as YAML it is read back as it was."""
    before = draft(ToolStep(id="t", tool="x", task=task, args=args))

    assert before == read_plan(write_plan(before), name="p.yaml")
    assert before == draft_from(plain_plan(before))


@settings(max_examples=100, deadline=None)
@given(drafts)
def test_drafts_round_trip(before):
    """Drafts too are read back as they were written, right or wrong."""
    assert before == read_plan(write_plan(before), name="p.yaml")


def test_shared_values():
    """A value that is there twice is written twice: our own files have no aliases."""
    shared = {"k": ["v"]}
    before = draft(ToolStep(id="t", tool="x", args={"a": shared, "b": shared}))

    assert before == read_plan(write_plan(before), name="p.yaml")


def test_too_deep():
    """A program can't submit what no file may hold."""
    value: object = "x"
    for _ in range(100):
        value = [value]
    with pytest.raises(PlanError, match="P014"):
        draft_from({"goal": "g", "steps": [{"id": "a", "kind": "tool", "tool": "t", "args": {"v": value}}]})
