"""What every route needs: whose request it is, and what there is to meet it with."""

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from fastapi import Depends, Request

from orchestrator.events.project import Channel
from orchestrator.server.asking import Means
from orchestrator.server.problems import MEDIA_TYPE
from orchestrator.server.service import Service
from orchestrator.server.tenancy import TenantRuns


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _runs(request: Request) -> TenantRuns:
    return TenantRuns(request.app.state.service, request.state.tenant)


async def _means(request: Request) -> Means:
    return (await _service(request)).means


Served = Annotated[Service, Depends(_service)]
Runs = Annotated[TenantRuns, Depends(_runs)]
Given = Annotated[Means, Depends(_means)]


ALWAYS = (400, 401, 403, 408, 413, 421, 429, 503)
"""What any request may be answered with."""

EVENTS: Mapping[str, Any] = {
    "text/event-stream": {
        "schema": {
            "description": "One event",
            "type": "object",
            "properties": {
                "id": {"type": "string", "pattern": r"^[1-9][0-9]*\.[01]$"},
                "event": {"enum": list(get_args(Channel))},
                "data": {"type": "string", "contentMediaType": "application/json"},
                "retry": {"type": "integer"},
            },
            "required": ["event", "data"],
        },
        "example": ': dagwright\nretry: 2000\nid: 2.0\nevent: phase\ndata: {"phase":"planning"}\n\n',
    }
}
"""The content of an answer that is an event stream. Before OpenAPI 3.2 the schema of such a stream is that of each event."""


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers of these statuses, for the description of a route, and those that any may give."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
    reasons = {
        400: "The request can't be understood",
        401: "There is no valid token",
        403: "The token, or the page that asks, does not allow this",
        404: "There is no such run",
        408: "The body came too slowly",
        409: "The run has ended, or does not wait for this",
        413: "The body is too large",
        421: "The server does not go by this name",
        422: "The request asks for what can't be had",
        429: "There are too many requests",
        502: "The model could not be asked",
        503: "The server can't do this now",
    }
    return {status: {"description": reasons[status], "content": content} for status in sorted({*ALWAYS, *statuses})}
