"""What those are told who are not let in."""

import math

from msgspec import Struct
from starlette.responses import Response

from orchestrator.server.problems import problem

_REALM = 'Bearer realm="dagwright"'


class Refusal(Struct, frozen=True, kw_only=True):
    """`slug` names the kind of problem, `detail` says what to change. It quotes nothing of what was sent."""

    status: int
    slug: str
    detail: str
    headers: tuple[tuple[str, str], ...] = ()

    def response(self) -> Response:
        """As a problem in JSON."""
        response = problem(self.status, self.slug, self.detail)
        response.headers.update(dict(self.headers))
        return response


OTHER_HOST = Refusal(
    status=421,
    slug="bad-host",
    detail="this server does not go by the name in Host; start it with --allowed-host NAME to change that",
)
OTHER_ORIGIN = Refusal(status=403, slug="bad-origin", detail="the page that asks is not one of this server's")
NO_ORIGIN = Refusal(
    status=403, slug="bad-origin", detail="a request with a cookie that changes something must say which page it comes from"
)
NO_CREDENTIALS = Refusal(
    status=401,
    slug="unauthorized",
    detail="send the header Authorization: Bearer TOKEN, or log in",
    headers=(("www-authenticate", _REALM),),
)
TWO_CREDENTIALS = Refusal(
    status=400,
    slug="bad-request",
    detail="there is more than one Authorization header",
    headers=(("www-authenticate", f'{_REALM}, error="invalid_request"'),),
)
WRONG_TOKEN = Refusal(
    status=401,
    slug="unauthorized",
    detail="this is not a token of this server",
    headers=(("www-authenticate", f'{_REALM}, error="invalid_token"'),),
)
SESSION_OVER = Refusal(
    status=401, slug="unauthorized", detail="the session is over; log in again", headers=(("www-authenticate", _REALM),)
)
READS_ONLY = Refusal(
    status=403,
    slug="forbidden",
    detail="this token may only read",
    headers=(("www-authenticate", f'{_REALM}, error="insufficient_scope", scope="write"'),),
)
NOTHING_HERE = Refusal(status=404, slug="not-found", detail="there is nothing at this path")


def other_methods(methods: tuple[str, ...]) -> Refusal:
    """The path is for these methods."""
    allowed = ", ".join(methods)
    return Refusal(status=405, slug="method-not-allowed", detail=f"this path is for {allowed}", headers=(("allow", allowed),))


def wrong_token(wait: float) -> Refusal:
    """The token is wrong, and the peer may show another wrong one in so many seconds."""
    return too_many("too many wrong tokens came from this address", wait) if wait else WRONG_TOKEN


def too_many(what: str, seconds: float) -> Refusal:
    """It may be tried again in so many seconds."""
    return Refusal(status=429, slug="too-many", detail=what, headers=(("retry-after", str(max(1, math.ceil(seconds)))),))
