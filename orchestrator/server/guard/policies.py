"""What a route asks of whoever calls it, declared where the route is.

    @router.get("/v1/runs")
    @declares("read")
    async def list_runs(...): ...

A route that declares nothing can't be served: the guard refuses to be built.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Literal, TypeVar

T = TypeVar("T")

_MARK = "__dagwright_policy__"


class Policy(StrEnum):
    """READ and WRITE ask for a token, or for the cookie that a token was exchanged for.

    READ: it changes nothing and spends nothing. WRITE: everything else; a token that may only read is refused. LOGIN: the token
    comes in the body. PUBLIC: for everybody, and it tells nobody anything.
    """

    PUBLIC = "public"
    LOGIN = "login"
    READ = "read"
    WRITE = "write"


def declares(policy: Literal["public", "login", "read", "write"]) -> Callable[[T], T]:
    """Marks an endpoint, or an app that is mounted, with its policy. It stands below the decorator that makes it a route."""
    declared = Policy(policy)

    def mark(endpoint: T) -> T:
        setattr(endpoint, _MARK, declared)
        return endpoint

    return mark


def policy_of(endpoint: object) -> Policy | None:
    """What the endpoint has declared, None where it has not."""
    policy = getattr(endpoint, _MARK, None)
    return policy if isinstance(policy, Policy) else None
