"""What a run that had to land has not done."""

from msgspec.structs import replace

from planner import Plan
from planner.analyzer import structural_verdict
from planner.prompts import ending
from planner.results import Missing, Results, Succeeded, Verdict


def undone(plan: Plan, results: Results) -> tuple[str, ...]:
    """What a run that had to land has not done, and why: a line for each such step."""
    counted = structural_verdict(plan, results)
    optional = [(step.id, results.get(step.id)) for step in plan.steps if step.optional]
    left_out = (f"{name} (optional) {ending(end)[0]}" for name, end in optional if not isinstance(end, Succeeded))
    return (*(counted.missing if isinstance(counted, Missing) else ()), *left_out)


def landed(verdict: Verdict, plan: Plan, results: Results) -> Verdict:
    """The verdict on a run that had to land: whatever a judge says is missing, so is all that was not done."""
    if not isinstance(verdict, Missing):
        return verdict
    return replace(verdict, missing=tuple(dict.fromkeys((*verdict.missing, *undone(plan, results)))))
