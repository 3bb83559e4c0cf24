"""Where things stand in a text, and how much there may be."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.diagnostics import error
from planner.errors import PlanError
from planner.files import read_plan, write_plan, written_plan
from planner.files.places import MAX_DEPTH, MAX_VALUES, Outline, Position, UnreadableText, located
from planner.files.text import json_value, yaml_value
from tests.planner.drafts import draft, step

YAML = """\
goal: g
steps:
- id: a
  task: t
  needs: [b,
    c]
- {id: b, args: {"k/1": [x, {y: z}]}}
"""

JSON = '{"goal": "g",\n "steps": [{"id": "a",\n  "task": "t"}, {"id": "b", "x": {"k/1": [1, {"y": "a\\"]}"}]}}]}'


@pytest.mark.parametrize(
    ("read", "text", "place", "at"),
    [
        pytest.param(yaml_value, YAML, "", (1, 1), id="the whole"),
        pytest.param(yaml_value, YAML, "/steps", (2, 1), id="member"),
        pytest.param(yaml_value, YAML, "/steps/0", (3, 3), id="item"),
        pytest.param(yaml_value, YAML, "/steps/0/task", (4, 3), id="member of an item"),
        pytest.param(yaml_value, YAML, "/steps/0/needs/1", (6, 5), id="item of a flow"),
        pytest.param(yaml_value, YAML, "/steps/1/args/k~11/1/y", (7, 30), id="deep"),
        pytest.param(json_value, JSON, "", (1, 1), id="JSON: the whole"),
        pytest.param(json_value, JSON, "/steps", (2, 2), id="JSON: member"),
        pytest.param(json_value, JSON, "/steps/0/task", (3, 3), id="JSON: member of an item"),
        pytest.param(json_value, JSON, "/steps/1", (3, 17), id="JSON: item"),
        pytest.param(json_value, JSON, "/steps/1/x/k~11/1/y", (3, 47), id="JSON: deep"),
    ],
)
def test_places(read, text, place, at):
    """A member stands where its key does, an item where it begins."""
    assert at == read(text).places[place]


@pytest.mark.parametrize(
    ("place", "at"),
    [
        pytest.param("/steps/0/depends_on/1", (6, 5), id="by another name"),
        pytest.param("/steps/0/depends_on/7", (5, 3), id="an item that is not there"),
        pytest.param("/steps/1/task", (7, 3), id="a field that is not there"),
        pytest.param("/inputs/x", (1, 1), id="nothing around it but the whole"),
    ],
)
def test_located(place, at):
    """A finding has the position of its place, or of the innermost part around it that was written."""
    (found,) = located([error("P012", place, "wrong")], yaml_value(YAML).places)

    assert at == (found.line, found.column)
    assert f"{place}, line {at[0]}, column {at[1]}: wrong" in str(found)


def test_what_is_located_stays():
    """A finding that has its line keeps it; without any text there is none."""
    (once,) = located([error("P012", "", "wrong")], {"": Position(3, 4)})

    assert (once,) == located([once], {"": Position(9, 9)})
    assert [error("P012", "/x", "wrong")] == list(located([error("P012", "/x", "wrong")], {}))


@pytest.mark.parametrize(
    ("text", "name", "at"),
    [
        pytest.param("goal: g\nsteps: [{id: a, tsk: t}]", "p.yaml", (2, 17), id="field"),
        pytest.param("goal: g\nsteps: &x []", "p.yaml", (2, 8), id="not our YAML"),
        pytest.param("goal: g\nsteps: ]", "p.yaml", (2, 8), id="no YAML"),
        pytest.param('{"goal": "g",\n "steps" []}', "p.json", (2, 10), id="no JSON"),
        pytest.param('{"goal": "g",\n "goal": "h"}', "p.json", (2, 2), id="a key that comes twice"),
        pytest.param('{"goal": "g",\n "\\u0067oal": "h"}', "p.json", (2, 2), id="the same key, spelt otherwise"),
    ],
)
def test_faults_have_lines(text, name, at):
    """What is wrong with a text is shown where it is."""
    with pytest.raises(PlanError) as raised:
        written_plan(text, name=name)

    assert at == (raised.value.diagnostics[0].line, raised.value.diagnostics[0].column)


def test_later_findings_have_lines():
    """Whoever checks a draft has its findings located by the text that it came from."""
    written = written_plan(YAML.partition("- {")[0], name="p.yaml")

    (found,) = written.located([error("P005", "/steps/0/depends_on/0", "no step")])

    assert (5, 11) == (found.line, found.column)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        pytest.param(json_value, "[" + "0," * MAX_VALUES + "0]", id="JSON"),
        pytest.param(yaml_value, "[" + "0," * MAX_VALUES + "0]", id="YAML"),
    ],
)
def test_too_many_values(read, text):
    """However short each is."""
    with pytest.raises(UnreadableText, match="line 1: more than 400,000 values"):
        read(text)


def test_too_deep():
    """The cap holds for lists and objects alike, before anything is built."""
    outline = Outline()
    for level in range(MAX_DEPTH):
        outline.enter(Position(1, level + 1), is_list=bool(level % 2))
        if outline.in_object:
            outline.key("k", Position(1, 1))

    with pytest.raises(UnreadableText, match="nested deeper"):
        outline.enter(Position(1, 1), is_list=True)


@given(st.text(alphabet='{}[],:"\\ab1 \n', max_size=40))
def test_any_text(text):
    """Whatever is given for JSON is read or refused, and never crashes."""
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(UnreadableText):
            json_value(text)
        return
    try:
        assert expected == json_value(text).value
    except UnreadableText as refused:
        assert "twice" in refused.why  # noqa: PT017 (either is right, and which one is not known before)


def test_both_forms_agree():
    """The same plan has the same parts, whichever way it is written."""
    before = draft(step("a"), step("b", "a", tools=["x", "y"], output_schema={"type": "object"}))
    text = write_plan(before)

    assert set(yaml_value(text).places) == set(json_value(json.dumps(yaml_value(text).value)).places)
    assert before == read_plan(text, name="p.yaml")
