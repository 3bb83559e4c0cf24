"""From a goal to a plan: plans, their checks and repairs, and the verdict on what came of them. Knows nothing of runs."""

from typing import TYPE_CHECKING

from planner.check import Known, check
from planner.diagnostics import CODES, Diagnostic
from planner.errors import BrokenReference, PlanError
from planner.plan import (
    AnyStep,
    ApprovalStep,
    BaseStep,
    Draft,
    Estimate,
    ExpressionCheck,
    Input,
    JudgeCheck,
    MapStep,
    Plan,
    PlanLimits,
    PlanStep,
    SchemaCheck,
    Spread,
    Step,
    ToolCheck,
    ToolStep,
    WorkStep,
)
from planner.repair import repair
from planner.results import Achieved, Failed, Missing, Results, Skipped, StepResult, Succeeded, Verdict
from registry.lazy import lazily

if TYPE_CHECKING:
    from planner.analyzer import Judged, PlanAnalyzer, structural_verdict
    from planner.files import draft_from, plain_plan, read_plan, write_plan
    from planner.planning import DAGPlanner, Planned

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
    "Estimate",
    "ExpressionCheck",
    "Failed",
    "Input",
    "JudgeCheck",
    "Judged",
    "Known",
    "MapStep",
    "Missing",
    "Plan",
    "PlanAnalyzer",
    "PlanError",
    "PlanLimits",
    "PlanStep",
    "Planned",
    "Results",
    "SchemaCheck",
    "Skipped",
    "Spread",
    "Step",
    "StepResult",
    "Succeeded",
    "ToolCheck",
    "ToolStep",
    "Verdict",
    "WorkStep",
    "check",
    "draft_from",
    "plain_plan",
    "read_plan",
    "repair",
    "structural_verdict",
    "write_plan",
]

__getattr__ = lazily(
    __name__,
    {
        "DAGPlanner": "planning",
        "Judged": "analyzer",
        "PlanAnalyzer": "analyzer",
        "Planned": "planning",
        "draft_from": "files",
        "plain_plan": "files",
        "read_plan": "files",
        "structural_verdict": "analyzer",
        "write_plan": "files",
    },
)
