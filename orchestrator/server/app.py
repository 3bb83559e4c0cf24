"""The API as one application. Who may use it is decided before it, by the guard."""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from orchestrator.errors import JournalDamaged, JournalUnusable, RunHeld, UnknownRun, UnknownWaiting
from orchestrator.logs import fault
from orchestrator.server.problems import Problem, problem
from orchestrator.server.reports import findings_of
from orchestrator.server.routes import events, means, plans, runs, waiting
from orchestrator.server.service import Service
from orchestrator.server.shapes.going import ProblemOut
from planner import PlanError
from planner.plan import Draft
from registry.errors import ConfigurationError, DagwrightError, ModelError

ABOUT = (
    "Turns goals into plans, does their steps side by side, and answers. Events come as server-sent events; see docs/serve.md."
)

_COMPONENTS = "#/components/schemas/{model}"

Answer = Callable[[Any], Response]

ANSWERS: Mapping[type[Exception], Answer] = {
    Problem: lambda error: problem(error.status, error.slug, error.detail, **error.facts),
    PlanError: lambda error: problem(
        422, "bad-plan", str(error), diagnostics=[found.model_dump() for found in findings_of(error.diagnostics)]
    ),
    UnknownRun: lambda error: problem(404, "unknown-run", f"no run {error.run!r}", run=error.run),
    UnknownWaiting: lambda error: problem(409, "unknown-waiting", str(error), run=error.run),
    RunHeld: lambda error: problem(503, "unavailable", "somebody else is just writing to the run; ask again", run=error.run),
    ConfigurationError: lambda error: problem(422, "bad-request", str(error)),
    ModelError: lambda error: problem(502, "model-failed", str(error)),
    JournalDamaged: lambda _: problem(500, "damaged", "what is stored of the run is not what was written"),
    JournalUnusable: lambda _: problem(503, "unavailable", "the journal can't be used now"),
    DagwrightError: lambda error: problem(503, "unavailable", str(error)),
}
"""What is said of each kind of error. None shows where anything is kept."""


def create_app(service: Service) -> FastAPI:
    """The API of this service, which must be alive while requests come. It has no middleware and compresses nothing."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        release = version("dagwright")
    except PackageNotFoundError:
        release = "0"
    app = FastAPI(
        title="dagwright",
        version=release,
        description=ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    for subject in (runs, events, waiting, plans, means):
        app.include_router(subject.router)
    for kind, answer in ANSWERS.items():
        app.add_exception_handler(kind, _answering(answer))
    app.add_exception_handler(RequestValidationError, _answering(_misfit))
    app.add_exception_handler(HTTPException, _answering(_http))
    app.add_exception_handler(Exception, _fault)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def _answering(answer: Answer) -> Callable[[Request, Exception], Any]:
    async def handle(_: Request, error: Exception) -> Response:
        return answer(error)

    return handle


def _misfit(error: RequestValidationError) -> Response:
    """Says where, and never what stood there: it may be a secret that was put in the wrong place."""
    found = [
        {"place": "/".join(map(str, each["loc"])), "message": each["msg"].removeprefix("Value error, ")}
        for each in error.errors()
    ]
    unreadable = any(each["type"] == "json_invalid" for each in error.errors())
    first = f"{found[0]['place']}: {found[0]['message']}" if found else "it does not fit"
    return problem(400 if unreadable else 422, "bad-request", first, errors=found)


def _http(error: HTTPException) -> Response:
    slugs = {404: "not-found", 405: "method-not-allowed"}
    response = problem(error.status_code, slugs.get(error.status_code, "bad-request"), error.detail)
    response.headers.update(error.headers or {})
    return response


async def _fault(request: Request, error: Exception) -> Response:
    fault(f"{request.method} {request.url.path}", error)
    return problem(500, "internal", "it was written to the server's log")


def _described(app: FastAPI) -> dict[str, Any]:
    """The description, made when it is first asked for, with the schemas of plans and problems in it."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        plan = Draft.model_json_schema(ref_template=_COMPONENTS)
        parts = {**plan.pop("$defs", {}), "Plan": plan, "ProblemOut": ProblemOut.model_json_schema(ref_template=_COMPONENTS)}
        made["components"]["schemas"] = {**parts, **made["components"]["schemas"]}
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
        made["paths"]["/health"]["get"]["security"] = []
        app.openapi_schema = made
    return app.openapi_schema
