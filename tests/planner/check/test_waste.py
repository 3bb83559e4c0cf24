"""Warnings of work for nothing: the smallest plan that raises each, and the nearest that doesn't."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from planner.check import Known, check
from planner.plan import ApprovalStep, MapStep, PlanStep, ToolStep
from registry.tools.function import tool
from tests.planner.drafts import draft, step


@tool(effect="pure")
def look(q: str = "") -> str:
    """Look."""
    return q


@tool(effect="keyed")
def keep(q: str = "") -> str:
    """Keep."""
    return q


@dataclass(frozen=True)
class Narrow:
    context_window: int | None = 1_000
    abilities: Mapping[str, bool] = field(default_factory=lambda: {"tool_call": True})


KNOWN = Known.of([look, keep], {"narrow": Narrow(), "general": Narrow(None), "synthesis": Narrow(4_000)})
OF_A = "${steps.a.output}"


def looks(step_id, *needs, **args):
    return ToolStep(id=step_id, tool="look", depends_on=needs, args=args)


def keeps(step_id, *needs):
    return ToolStep(id=step_id, tool="keep", depends_on=needs)


FOUR = [step(f"s{i}") for i in range(4)]


@pytest.mark.parametrize(
    ("odd", "even", "code", "place", "words"),
    [
        pytest.param(
            draft(step("a"), looks("b"), output=OF_A),
            draft(step("a", "b"), looks("b"), output=OF_A),
            "P020",
            "/steps/1",
            "the result of step 'b'",
            id="leads nowhere",
        ),
        pytest.param(
            draft(step("a"), looks("b"), output=OF_A),
            draft(step("a"), looks("b"), output=None),
            "P020",
            "/steps/1",
            "'b'",
            id="every result counts for an answer that is written",
        ),
        pytest.param(
            draft(step("a"), looks("b"), output=OF_A),
            draft(step("a"), keeps("b"), output=OF_A),
            "P020",
            "/steps/1",
            "'b'",
            id="but effects are wanted for themselves",
        ),
        pytest.param(
            draft(step("a"), MapStep(id="b", over=[1], step=looks("x")), output=OF_A),
            draft(step("a"), MapStep(id="b", over=[1], step=keeps("x")), output=OF_A),
            "P020",
            "/steps/1",
            "'b'",
            id="of a map",
        ),
        pytest.param(
            draft(step("a"), PlanStep(id="b", plan=draft(looks("x"))), output=OF_A),
            draft(step("a"), PlanStep(id="b", plan=draft(keeps("x"))), output=OF_A),
            "P020",
            "/steps/1",
            "'b'",
            id="of a plan within",
        ),
        pytest.param(
            draft(step("a"), ApprovalStep(id="b", question="?")),
            draft(step("a", "b"), ApprovalStep(id="b", question="?")),
            "P020",
            "/steps/1",
            "the approval of step 'b'",
            id="an approval that stops nothing",
        ),
        pytest.param(
            draft(looks("a"), looks("b", "a")),
            draft(looks("a"), looks("b", "a", q=OF_A)),
            "P021",
            "/steps/1/depends_on/0",
            "'b' waits for 'a' and reads nothing of it",
            id="reads nothing",
        ),
        pytest.param(
            draft(looks("a"), looks("b", "a")),
            draft(keeps("a"), looks("b", "a")),
            "P021",
            "/steps/1/depends_on/0",
            "'a'",
            id="what is changed may be looked at",
        ),
        pytest.param(
            draft(looks("a"), looks("b", "a")),
            draft(looks("a"), keeps("b", "a")),
            "P021",
            "/steps/1/depends_on/0",
            "'a'",
            id="a change may wait for a look",
        ),
        pytest.param(
            draft(looks("a"), looks("b", "a")),
            draft(looks("a"), step("b", "a")),
            "P021",
            "/steps/1/depends_on/0",
            "'a'",
            id="an agent reads all it depends on",
        ),
        pytest.param(
            draft(*FOUR, step("a", "s0", "s1", "s2", "s3", model_hint="narrow"), output=OF_A),
            draft(*FOUR[:3], step("a", "s0", "s1", "s2", model_hint="narrow"), output=OF_A),
            "P022",
            "/steps/4",
            "4 results come together in a window of 1,000 tokens",
            id="fan-in",
        ),
        pytest.param(
            draft(*(step(f"s{i}") for i in range(16))),
            draft(*(step(f"s{i}") for i in range(15))),
            "P022",
            "/steps",
            "16 results",
            id="the answer",
        ),
    ],
)
def test_codes(odd, even, code, place, words):
    """What is done for nothing, or for nobody to take in, is told at its place."""
    (found,) = check(odd, KNOWN)

    assert (code, "warning", place) == (found.code, found.severity, found.place)
    assert words in found.message
    assert () == check(even, KNOWN)


def test_what_nobody_knows_may_change_things():
    """A tool that is known by name only may have effects, and a model of unknown window any."""
    strange = Known(tools=frozenset({"look"}))

    assert () == check(draft(step("a"), looks("b"), output=OF_A), strange)
    assert () == check(draft(*FOUR, step("a", "s0", "s1", "s2", "s3"), output=OF_A), KNOWN)
