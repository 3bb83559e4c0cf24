"""What anybody may ask of the server at most."""

from msgspec import Struct, field

from orchestrator.server.guard.bodies import BodyLimits


class GuardLimits(Struct, frozen=True, kw_only=True):
    """For each tenant: requests a second (`rate`), so many at once (`burst`), and event streams that are open.

    `body` holds for each request.
    """

    rate: float = 100.0
    burst: float = 400.0
    streams: int = 1000
    body: BodyLimits = field(default_factory=BodyLimits)
