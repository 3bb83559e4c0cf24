"""From a goal to a plan: plans, their checks and repairs, and the verdict on what came of them. Knows nothing of runs."""

from planner.analyzer import Judged, PlanAnalyzer, structural_verdict
from planner.check import Known, check
from planner.diagnostics import CODES, Diagnostic
from planner.errors import BrokenReference, PlanError
from planner.files import draft_from, plain_plan, read_plan, write_plan
from planner.plan import AnyStep, ApprovalStep, BaseStep, Draft, Input, Plan, Step, ToolStep
from planner.planning import DAGPlanner, Planned
from planner.repair import repair
from planner.results import Achieved, Failed, Missing, Results, Skipped, StepResult, Succeeded, Verdict

__all__ = [
    "CODES",
    "Achieved",
    "AnyStep",
    "ApprovalStep",
    "BaseStep",
    "BrokenReference",
    "DAGPlanner",
    "Diagnostic",
    "Draft",
    "Failed",
    "Input",
    "Judged",
    "Known",
    "Missing",
    "Plan",
    "PlanAnalyzer",
    "PlanError",
    "Planned",
    "Results",
    "Skipped",
    "Step",
    "StepResult",
    "Succeeded",
    "ToolStep",
    "Verdict",
    "check",
    "draft_from",
    "plain_plan",
    "read_plan",
    "repair",
    "structural_verdict",
    "write_plan",
]
