"""What happens in a run, as it happens."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Response

from orchestrator.events.facts import RunEnded
from orchestrator.server.frames import EventId
from orchestrator.server.guard.policies import declares
from orchestrator.server.problems import Problem
from orchestrator.server.routes.asked import EVENTS, Runs, problems
from orchestrator.server.streams import EventStream

router = APIRouter(tags=["events"])

_TOLD: dict[int | str, dict[str, Any]] = {
    200: {"description": "The events", "content": EVENTS},
    204: {"description": "The run has ended and everything was told: there is nothing to reconnect for"},
}


@router.get("/v1/runs/{run}/events", response_class=Response, responses=_TOLD | problems(404, 422))
@declares("read")
async def follow_run(
    run: str, runs: Runs, last_event_id: Annotated[str, Header(description="Go on behind this message.")] = ""
) -> Response:
    """Every event from the first one on, then each as it happens, to the end of the run.

    Whoever comes back with the id of the last message they got misses none and gets none twice. The end may be a long time off:
    comments keep the connection open.
    """
    outline = await runs.outline(run)
    if outline.damage:
        raise Problem(500, "damaged", "what is stored of the run is not what was written")
    after = EventId.read(last_event_id)
    if last_event_id and (after is None or after.seq > outline.facts):
        detail = f"Last-Event-ID {last_event_id[:50]!r} is no message of this run; it has events 1 to {outline.facts}"
        raise Problem(400, "bad-event-id", detail, events=outline.facts)
    ended = outline.work if outline.work and isinstance(outline.work.event, RunEnded) else None
    if after is not None and ended is not None and after.seq >= ended.place:
        return Response(status_code=204)
    return EventStream(runs.feed(run), after)
