"""Runs: begun, listed, looked at, and ended."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from pydantic import JsonValue

from orchestrator.accepted import Accepted
from orchestrator.server.asking import Setup, named_by
from orchestrator.server.guard.policies import declares
from orchestrator.server.problems import Problem
from orchestrator.server.reports import line_of, report_of
from orchestrator.server.routes.asked import EVENTS, Runs, Served, problems
from orchestrator.server.service import Service
from orchestrator.server.shapes.coming import Message, NewRun, Why
from orchestrator.server.shapes.going import RunLine, RunOut, RunPage
from orchestrator.server.streams import EventStream
from orchestrator.server.tenancy import State, TenantRuns
from orchestrator.spending.models import refuse_unpriced
from registry.digests import digest

router = APIRouter(tags=["runs"])

Key = Annotated[str, Header(max_length=255, pattern=r"^[\x21-\x7e]*$", description="Whoever sends it again gets the same run.")]

_BEGUN: dict[int | str, dict[str, Any]] = {
    200: {"description": "The run that the same request began before", "model": RunLine},
    201: {"description": "The run has begun, and that is written down", "content": EVENTS},
}


@router.post("/v1/runs", status_code=201, response_model=RunLine, responses=_BEGUN | problems(422))
@declares("write")
async def begin_run(wanted: NewRun, service: Served, runs: Runs, response: Response, idempotency_key: Key = "") -> Any:
    """Begin a run of a goal or of a plan. It goes on whoever watches.

    A run begun `attached` is answered with its event stream, and is cancelled when that is left before its end.
    """
    accepted, setup = _accepted(wanted, service)
    if wanted.attached and not idempotency_key:
        run = await runs.attach(accepted, setup)
        headers = {"location": f"/v1/runs/{run}"}
        return EventStream(runs.feed(run), status=201, headers=headers, left=partial(runs.leave, run))
    if wanted.attached:
        raise Problem(422, "bad-request", "an attached run has no Idempotency-Key: who asks again is another client")
    run = runs.new_id(named_by(idempotency_key) if idempotency_key else "")
    if not await runs.begin(accepted, setup, run):
        response.status_code = 200
    response.headers["location"] = f"/v1/runs/{run}"
    return await _line(runs, run)


@router.get("/v1/runs", response_model=RunPage, responses=problems(404, 422))
@declares("read")
async def list_runs(
    runs: Runs,
    state: Annotated[list[State] | None, Query(description="Only runs in one of these states.")] = None,
    cursor: Annotated[str, Query(max_length=200, description="The `next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> RunPage:
    """Your runs, the newest first."""
    page = await runs.page(before=cursor, most=limit, states=frozenset(state or ()))
    return RunPage(runs=[line_of(*each) for each in page.runs], next=page.following or None)


@router.get("/v1/runs/{run}", response_model=RunOut, responses=problems(404, 422))
@declares("read")
async def show_run(run: str, runs: Runs) -> RunOut:
    """All that there is to know of a run."""
    return report_of(await runs.recall(run))


@router.post("/v1/runs/{run}/cancel", status_code=202, response_model=RunLine, responses=problems(404, 409, 422))
@declares("write")
async def cancel_run(run: str, runs: Runs, why: Why | None = None) -> RunLine:
    """End the run for good. What runs is cancelled, what was finished stays."""
    await runs.cancel(run, why.why if why else "")
    return await _line(runs, run)


@router.post("/v1/runs/{run}/stop", status_code=202, response_model=RunLine, responses=problems(404, 409, 422))
@declares("write")
async def stop_run(run: str, runs: Runs, why: Why | None = None) -> RunLine:
    """Begin no further steps. What runs finishes, the rest is skipped, and the answer is made from what there is."""
    await runs.stop(run, why.why if why else "")
    return await _line(runs, run)


@router.post("/v1/runs/{run}/interrupt", status_code=202, response_model=RunLine, responses=problems(404, 409, 422))
@declares("write")
async def interrupt_run(run: str, message: Message, runs: Runs) -> RunLine:
    """Send a message to every agent at work, and to those that begin later."""
    await runs.interrupt(run, message.text)
    return await _line(runs, run)


def _accepted(wanted: NewRun, service: Service) -> tuple[Accepted, Setup]:
    """What is to be written down. Raises a `Problem`, `PlanError` or `ConfigurationError` for what can't be had here."""
    means, given = service.means, wanted.wanted_limits
    if "rounds" in given:
        given.setdefault("submitted_rounds", given["rounds"])
    limits = means.narrowed(given)
    goal = wanted.goal if wanted.plan is None else means.plan(wanted.plan, wanted.inputs)
    assert goal is not None
    asked: dict[str, JsonValue] = wanted.model_dump(mode="json")
    setup = Setup(limits=limits, asked=digest(asked), attached=wanted.attached)
    today = service.ports.now().date().isoformat()
    accepted = Accepted.of(goal, wanted.inputs, today=today, setup=setup.written(), limits=limits)
    refuse_unpriced(means.models, accepted.all_limits, accepted.unpriced)
    return accepted, setup


async def _line(runs: TenantRuns, run: str) -> RunLine:
    outline = await runs.outline(run)
    return line_of(outline, runs.state(outline))
