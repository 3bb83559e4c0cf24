"""What went wrong, as `application/problem+json` (RFC 9457): to programs the type, to people the sentence."""

from collections.abc import Mapping

import orjson
from starlette.responses import Response

from registry.messages import Json

MEDIA_TYPE = "application/problem+json"

TITLES: Mapping[str, str] = {
    "unauthorized": "There is no valid token",
    "forbidden": "The token does not allow this",
    "bad-host": "This server does not go by that name",
    "bad-origin": "The page that asks may not",
    "too-large": "The body is too large",
    "too-deep": "The body is nested too deeply",
    "too-slow": "The request came too slowly",
    "too-many": "There are too many requests",
    "not-found": "There is nothing here",
    "method-not-allowed": "This can't be done here",
    "bad-request": "The request can't be understood",
    "bad-plan": "The plan can't be run",
    "bad-limits": "The limits are above the server's",
    "bad-event-id": "There is no such event to go on after",
    "unknown-run": "There is no such run",
    "unknown-waiting": "Nothing waits for this answer",
    "run-over": "The run has ended",
    "key-reused": "The idempotency key belongs to another request",
    "model-failed": "The model could not be asked",
    "damaged": "The run can't be read",
    "draining": "The server is about to stop",
    "unavailable": "The server can't do this now",
    "internal": "There is a fault in the server",
}
"""Every kind of problem by its slug, and its title."""


class Problem(Exception):
    """Why a request is not met. `facts` are further members of the answer: what there is, or what was found."""

    def __init__(self, status: int, slug: str, detail: str, **facts: Json) -> None:
        super().__init__(detail)
        self.status, self.slug, self.detail, self.facts = status, slug, detail, facts


def problem(status: int, slug: str, detail: str, **facts: Json) -> Response:
    """The answer that says so. `slug` is one of `TITLES`."""
    said = {"type": f"urn:dagwright:{slug}", "title": TITLES[slug], "status": status, "detail": detail, **facts}
    return Response(orjson.dumps(said, default=str), status_code=status, media_type=MEDIA_TYPE)
