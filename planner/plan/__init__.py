"""The language of plans. Python, JSON and YAML say the same thing."""

from planner.plan.base import BaseStep, WorkStep
from planner.plan.kinds import ApprovalStep, Step, ToolStep
from planner.plan.plan import AnyStep, Draft, Input, MapStep, Plan, PlanLimits, PlanStep, plain_draft, plain_step
from planner.plan.policies import Check, Estimate, ExpressionCheck, JudgeCheck, OnFailure, SchemaCheck, Spread, ToolCheck

__all__ = [
    "AnyStep",
    "ApprovalStep",
    "BaseStep",
    "Check",
    "Draft",
    "Estimate",
    "ExpressionCheck",
    "Input",
    "JudgeCheck",
    "MapStep",
    "OnFailure",
    "Plan",
    "PlanLimits",
    "PlanStep",
    "SchemaCheck",
    "Spread",
    "Step",
    "ToolCheck",
    "ToolStep",
    "WorkStep",
    "plain_draft",
    "plain_step",
]
