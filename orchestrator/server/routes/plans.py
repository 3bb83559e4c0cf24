"""Plans without a run: checked, and drafted."""

from fastapi import APIRouter

from orchestrator.server.guard.policies import declares
from orchestrator.server.reports import findings_of, usage_of
from orchestrator.server.routes.asked import Given, Served, problems
from orchestrator.server.shapes.coming import GoalToPlan, PlanToCheck
from orchestrator.server.shapes.going import Checked, Drafted
from planner import DAGPlanner, Known, PlanError, check, plain_plan
from registry.calls import Call

router = APIRouter(tags=["plans"])


@router.post("/v1/plans/check", response_model=Checked, responses=problems(422))
@declares("read")
async def check_plan(wanted: PlanToCheck, means: Given) -> Checked:
    """Say what is wrong with a plan, for this server's models and tools. Costs nothing."""
    try:
        draft, found = means.checked(wanted.plan, wanted.inputs)
    except PlanError as error:
        return Checked(ok=False, steps=0, diagnostics=findings_of(error.diagnostics))
    sound = not any(each.severity == "error" for each in found)
    return Checked(ok=sound, steps=len(draft.steps), diagnostics=findings_of(found))


@router.post("/v1/plans/draft", response_model=Drafted, responses=problems(422, 502))
@declares("write")
async def draft_plan(wanted: GoalToPlan, service: Served) -> Drafted:
    """Have a model draft a plan for a goal. Nothing of it is done; what the model spent is told."""
    models, tools = service.means.models, service.means.tools
    planned = await DAGPlanner(models.model("planning")).plan(
        wanted.goal,
        today=service.ports.now().date().isoformat(),
        tools=tools.specs,
        hints=models.hints,
        call=Call(scope="plan/1", purpose="plan", label="plan"),
    )
    found = check(planned.plan, Known.of(tools, models.by_hint, {}))
    return Drafted(
        plan=plain_plan(planned.plan),
        diagnostics=findings_of((*planned.diagnostics, *found)),
        usage=usage_of(planned.usage),
    )
