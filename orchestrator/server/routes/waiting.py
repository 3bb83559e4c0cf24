"""What waits for a person, and what they say to it."""

from fastapi import APIRouter, Request

from orchestrator.server.guard.policies import declares
from orchestrator.server.reports import line_of, waiting_of
from orchestrator.server.routes.asked import Runs, problems
from orchestrator.server.shapes.coming import AnswerIn, Approval
from orchestrator.server.shapes.going import PendingOut, RunLine
from orchestrator.server.tenancy import Recalled, TenantRuns
from orchestrator.waiting import Decision

router = APIRouter(tags=["waiting"])


@router.get("/v1/pending", response_model=PendingOut, responses=problems())
@declares("read")
async def list_pending(runs: Runs) -> PendingOut:
    """All that waits for an answer in any of your runs, the oldest first."""
    return _pending(*await runs.waiting())


@router.get("/v1/runs/{run}/pending", response_model=PendingOut, responses=problems(404, 422))
@declares("read")
async def list_pending_of(run: str, runs: Runs) -> PendingOut:
    """All that waits for an answer in one run."""
    return _pending(await runs.recall(run))


@router.post("/v1/runs/{run}/approve", response_model=RunLine, responses=problems(404, 409, 422))
@declares("write")
async def approve(run: str, said: Approval, runs: Runs, request: Request) -> RunLine:
    """Allow exactly what was shown under this id. The run goes on."""
    return await _decided(runs, run, said, "approve", request)


@router.post("/v1/runs/{run}/reject", response_model=RunLine, responses=problems(404, 409, 422))
@declares("write")
async def reject(run: str, said: Approval, runs: Runs, request: Request) -> RunLine:
    """Refuse it. The model reads `text`, and the run goes on."""
    return await _decided(runs, run, said, "reject", request)


@router.post("/v1/runs/{run}/answer", response_model=RunLine, responses=problems(404, 409, 422))
@declares("write")
async def answer(run: str, said: AnswerIn, runs: Runs, request: Request) -> RunLine:
    """Answer a question, or say what became of a call in doubt. The run goes on."""
    return await _decided(runs, run, said, said.decision, request)


def _pending(*runs: Recalled) -> PendingOut:
    return PendingOut(waiting=[waiting_of(run.outline.run, each) for run in runs for each in run.pending])


async def _decided(runs: TenantRuns, run: str, said: Approval, decision: Decision, request: Request) -> RunLine:
    by = said.by or getattr(request.state, "by", "")
    await runs.decide(run, said.waiting, decision, text=said.text, by=by)
    outline = await runs.outline(run)
    return line_of(outline, runs.state(outline))
