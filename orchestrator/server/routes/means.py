"""What runs are done with here, and how the server is."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from orchestrator.server.guard.policies import declares
from orchestrator.server.routes.asked import Given, Served, problems
from orchestrator.server.shapes.going import Health, ModelOut, ToolOut

router = APIRouter(tags=["server"])

_OF_HEALTH = {status: told for status, told in problems().items() if status not in (401, 429)} | {
    503: {"description": "Not yet, or not any more", "model": Health}
}
"""Nobody has to say who they are, and nobody asks too often."""


@router.get("/v1/models", response_model=list[ModelOut], responses=problems())
@declares("read")
async def list_models(means: Given) -> list[ModelOut]:
    """The models that steps may ask for, by name or by role."""
    roles = means.models.roles
    return [
        ModelOut(
            name=model.name,
            roles=[role for role, name in roles.items() if name == model.name],
            context_window=model.context_window,
            abilities={name: bool(can) for name, can in model.abilities.items()},
        )
        for model in means.models.models
    ]


@router.get("/v1/tools", response_model=list[ToolOut], responses=problems())
@declares("read")
async def list_tools(means: Given) -> list[ToolOut]:
    """The tools that steps may be granted."""
    return [
        ToolOut(
            name=tool.spec.name,
            description=tool.spec.description,
            parameters=dict(tool.spec.parameters),
            effect=tool.traits.effect,
            requires_approval=tool.traits.requires_approval,
        )
        for tool in means.tools
    ]


@router.get("/health", response_model=Health, responses=_OF_HEALTH)
@declares("public")
async def health(service: Served, response: Response) -> Health:
    """Whether the server takes requests. Tells nothing else."""
    if service.ready:
        return Health(status="ok")
    response.status_code = 503
    return Health(status="draining" if service.draining else "starting")


@router.get("/openapi.json", include_in_schema=False)
@declares("read")
async def describe(request: Request) -> JSONResponse:
    """The API, described in OpenAPI."""
    return JSONResponse(request.app.openapi())
