"""Pictures of plans."""

import pytest
from hypothesis import given

from planner.drawing import FORMS, draw
from planner.plan import ApprovalStep, MapStep, Plan, PlanStep, ToolStep
from tests.planner.drafts import draft, plan, plans, step

DIAMOND = plan(
    step("a"),
    ToolStep(id="b", tool="t", depends_on=["a"]),
    ApprovalStep(id="c", question="?", depends_on=["a"]),
    step("d", "b", "c"),
    goal="The\ngoal",
)


def test_tree():
    """Each step stands once: below the dependency on the critical path, or else the deepest one; the others are named."""
    assert [
        "The goal",
        "└─ * a",
        "   ├─ b: t",
        "   └─ * c: approval",
        "      └─ * d (and after b)",
        "* is on the critical path",
    ] == draw(DIAMOND, "tree", ("a", "c", "d")).splitlines()


def test_mermaid():
    """Kinds have shapes, the critical path has thick lines."""
    assert [
        "flowchart TD",
        '    s0["a"]',
        '    s1[["b: t"]]',
        '    s2{{"c"}}',
        '    s3["d"]',
        "    s0 --> s1",
        "    s0 ==> s2",
        "    s1 --> s3",
        "    s2 ==> s3",
        "    classDef critical stroke-width:4px",
        "    class s0,s2,s3 critical",
    ] == draw(DIAMOND, "mermaid", ("a", "c", "d")).splitlines()


def test_dot():
    """The same for Graphviz."""
    assert [
        "digraph plan {",
        '    "a" [label="a", shape=box, penwidth=3]',
        '    "b" [label="b: t", shape=component]',
        '    "c" [label="c", shape=diamond, penwidth=3]',
        '    "d" [label="d", shape=box, penwidth=3]',
        '    "a" -> "b"',
        '    "a" -> "c" [penwidth=3]',
        '    "b" -> "d"',
        '    "c" -> "d" [penwidth=3]',
        "}",
    ] == draw(DIAMOND, "dot", ("a", "c", "d")).splitlines()


@pytest.mark.parametrize("form", FORMS)
def test_kinds_and_odd_names(form):
    """Every kind can be drawn, and a name can't break out of its place."""
    odd = 'x"]<b>#'
    drawn = draw(
        draft(
            MapStep(id="m", over=[1], step=step("x")),
            PlanStep(id="p", plan=draft(step("y"))),
            ToolStep(id="t", tool=odd),
        ),
        form,
        (),
    )

    assert {"mermaid": 's2[["t: x#quot;]#lt;b>#35;"]]', "dot": 'label="t: x\\"]<b>#"', "tree": f"t: {odd}"}[form] in drawn


def test_long_chains_stay_narrow():
    """A tree of thousands of steps in a row is no wider than a page."""
    chain = draft(*(step(f"s{i}", *([f"s{i - 1}"] if i else [])) for i in range(2_000)))

    lines = draw(chain, "tree", ()).splitlines()

    assert len(lines) == 2_001
    assert max(map(len, lines)) < 160


@given(plans)
def test_every_step_is_drawn(drawn: Plan):
    """No step is lost, in no form."""
    assert len(drawn.steps) + 1 == len(draw(drawn, "tree", ()).splitlines())
    for form in ("mermaid", "dot"):
        nodes = [line for line in draw(drawn, form, ()).splitlines()[1:] if "--" not in line and "->" not in line and line != "}"]
        assert len(drawn.steps) == len(nodes)
