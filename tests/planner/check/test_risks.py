"""Warnings of what may go wrong in the world: the smallest plan that raises each, and the nearest that doesn't."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from planner.check import Known, check
from planner.plan import ApprovalStep, ExpressionCheck, MapStep, PlanStep, ToolStep
from registry.tools.function import tool
from tests.planner.drafts import draft, step


@tool(effect="keyed", destinations=("path",), requires_approval=True)
def save(path: str, text: str = "") -> None:
    """Save."""


@tool(effect="transactional")
def book(seat: int) -> None:
    """Book a seat."""


@tool(effect="keyed", destinations=("to",))
def mail(to: str) -> None:
    """Send a mail."""


@tool
def post() -> None:
    """Post a letter."""


@dataclass(frozen=True)
class Able:
    abilities: Mapping[str, bool]
    context_window: int | None = None


MODELS = {"dumb": Able({}), "calls": Able({"tool_call": True}), "writes": Able({"json_mode": True})}
KNOWN = Known.of([save, book, mail, post], MODELS)


def saves(step_id, *needs, path="log"):
    return ToolStep(id=step_id, task=f"save {step_id}", tool="save", depends_on=needs, args={"path": path})


ASK = ApprovalStep(id="ask", question="?")
HOLDS = ExpressionCheck(holds="${output} == 'ok'")


@pytest.mark.parametrize(
    ("risky", "safe", "code", "place", "words"),
    [
        pytest.param(
            draft(saves("a"), saves("b")),
            draft(saves("a"), saves("b", "a")),
            "P023",
            "/steps/1",
            "steps 'a' and 'b' may write to 'log' at the same time",
            id="two writers",
        ),
        pytest.param(
            draft(saves("a"), saves("b")),
            draft(saves("a"), saves("b", path="other")),
            "P023",
            "/steps/1",
            "'log'",
            id="elsewhere",
        ),
        pytest.param(
            draft(saves("a"), step("x", "a"), saves("c", "x"), saves("d", "x")),
            draft(saves("a"), step("x", "a"), saves("c", "x"), saves("d", "c")),
            "P023",
            "/steps/3",
            "steps 'c' and 'd'",
            id="by way of others",
        ),
        pytest.param(
            draft(ToolStep(id="a", tool="post")),
            draft(ASK, ToolStep(id="a", tool="post", depends_on=["ask"])),
            "P024",
            "/steps/0/tool",
            "what 'post' does in step 'a'",
            id="approved",
        ),
        pytest.param(
            draft(step("a", tools=["book", "mail"])),
            draft(ASK, step("x", "ask"), step("a", "x", tools=["book", "mail"])),
            "P024",
            "/steps/0/tools/1",
            "'mail'",
            id="approved by way of others",
        ),
        pytest.param(
            draft(ToolStep(id="a", tool="post")),
            draft(ToolStep(id="a", tool="post", verify=HOLDS)),
            "P024",
            "/steps/0/tool",
            "'post'",
            id="verified",
        ),
        pytest.param(
            draft(MapStep(id="m", over=[1], step=ToolStep(id="a", tool="post"))),
            draft(MapStep(id="m", over=[1], step=ToolStep(id="a", tool="post", verify=HOLDS))),
            "P024",
            "/steps/0/step/tool",
            "'post'",
            id="each item verified",
        ),
        pytest.param(
            draft(PlanStep(id="p", plan=draft(ToolStep(id="a", tool="post")))),
            draft(PlanStep(id="p", plan=draft(ASK, ToolStep(id="a", tool="post", depends_on=["ask"])))),
            "P024",
            "/steps/0/plan/steps/0/tool",
            "'post'",
            id="approved within a plan",
        ),
        pytest.param(
            draft(step("a", tools=["book"], model_hint="dumb")),
            draft(step("a", tools=["book"], model_hint="calls")),
            "P025",
            "/steps/0/model_hint",
            "'dumb' has no tool_call",
            id="tools",
        ),
        pytest.param(
            draft(step("a", tool_hint="book", escalate=["calls", "writes"])),
            draft(step("a", escalate=["calls", "writes"])),
            "P025",
            "/steps/0/escalate/1",
            "'writes' has no tool_call",
            id="a model that takes over",
        ),
        pytest.param(
            draft(step("a", output_schema={}, model_hint="dumb")),
            draft(step("a", output_schema={}, model_hint="writes")),
            "P025",
            "/steps/0/model_hint",
            "step 'a' has an output_schema",
            id="JSON",
        ),
    ],
)
def test_codes(risky, safe, code, place, words):
    """What may go wrong is told at its place, with who is in it."""
    (found,) = check(risky, KNOWN)

    assert (code, "warning", place) == (found.code, found.severity, found.place)
    assert words in found.message
    assert () == check(safe, KNOWN)


def test_a_write_that_is_not_done():
    """Who only repeats another one writes nothing, so there is nothing for it to meet."""
    again = saves("a").model_copy(update={"id": "b"})

    assert ["P029"] == [found.code for found in check(draft(saves("a"), again), KNOWN)]


def test_many_writers():
    """Each writer that waits for none of the others is told once, with the one before it."""
    many = draft(*(saves(f"s{i}") for i in range(50)))

    assert [f"/steps/{i}" for i in range(1, 50)] == [found.place for found in check(many, KNOWN)]
