"""One model that plays every part of a run, and what the parts say."""

from collections.abc import Callable, Iterable

from orchestrator.prompts import SYNTHESIS
from planner import Plan, Step
from registry.messages import Json, Reply, Request
from registry.testing import Line, ScriptedModel, asks

Part = Iterable[Line] | Callable[[Request], Line]


def part_of(request: Request) -> str:
    """Who is asked: "plan", "verdict", "synthesis" or "step"."""
    forced = [spec.name for spec in request.tools if spec.name in ("plan", "verdict")]
    if forced:
        return forced[0]
    return "synthesis" if request.messages[0].text == SYNTHESIS else "step"


def played(
    *, plan: Part = (), step: Part = (), verdict: Part = (), synthesis: Part = (), context_window: int | None = None
) -> ScriptedModel:
    """A model with lines for each part. A part that is asked once too often fails the test."""
    lines = {
        name: _told(name, part)
        for name, part in zip(("plan", "step", "verdict", "synthesis"), (plan, step, verdict, synthesis), strict=True)
    }
    return ScriptedModel(lambda request: lines[part_of(request)](request), context_window=context_window)


def _told(name: str, part: Part) -> Callable[[Request], Line]:
    if callable(part):
        return part
    left = iter(part)

    def following(request: Request) -> Line:
        line = next(left, None)
        assert line is not None, f"the part {name!r} has no more lines; it was asked {request.messages[-1].text!r}"
        return line

    return following


def planned(*steps: str, **needs: str) -> Reply:
    """A planner's answer: steps by id, each with the task of its name and, by name, the letters of the steps it needs."""
    return asks("plan", steps=[{"id": name, "task": name, "depends_on": list(needs.get(name, ""))} for name in (*steps, *needs)])


def judged(achieved: bool, *, missing: Iterable[str] = (), final_answer: str = "") -> Reply:
    """A judge's answer."""
    said: dict[str, Json] = {"reasoning": "so it is", "confidence": 0.9, "missing": list(missing)}
    return asks("verdict", achieved=achieved, final_answer=final_answer, **said)


def task(request: Request) -> str:
    """The task that a step's agent was given."""
    return request.messages[1].text.split("\n", 1)[0]


def plan_of(*steps: Step, goal: str = "the goal", output: str | None = None) -> Plan:
    """A plan with only the steps that matter."""
    return Plan(goal=goal, steps=steps, output=output)
