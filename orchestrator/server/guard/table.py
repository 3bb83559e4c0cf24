"""Which policy holds for a request: found by the framework's own matching, on the scope that the app will see.

So guard and app can't disagree on what a path means, however it is written. What is not in the table never reaches the app: no
route that was added later, and no redirect for a slash too many.
"""

from collections.abc import Iterator

from fastapi import FastAPI
from fastapi.routing import RouteContext, iter_route_contexts
from msgspec import Struct
from starlette.routing import Match, Mount, Route
from starlette.types import Scope

from orchestrator.server.guard.policies import Policy, policy_of
from registry.errors import ConfigurationError


class NoRoute(Struct, frozen=True):
    """Nothing is there."""


class OtherMethods(Struct, frozen=True):
    """Something is there, for these methods."""

    methods: tuple[str, ...]


class Table(Struct, frozen=True):
    """The routes of an app in the order in which it looks at them, each with its policy."""

    routes: tuple[tuple[RouteContext, Policy], ...]

    @classmethod
    def of(cls, app: FastAPI) -> "Table":
        """Raises `ConfigurationError`, which names each route that has declared no policy, or that can't have one."""
        found = [(context, _declared(context)) for context in iter_route_contexts(app.routes)]
        bare = ", ".join(_named(context) for context, policy in found if policy is None)
        if bare:
            raise ConfigurationError(f"routes without a policy can't be served: {bare}; declare one with @declares(...)")
        return cls(tuple((context, policy) for context, policy in found if policy is not None))

    def find(self, scope: Scope) -> Policy | NoRoute | OtherMethods:
        """The policy of the route that the app will choose."""
        methods: set[str] = set()
        for context, policy in self.routes:
            match, _ = context.matches(scope)
            if match is Match.FULL:
                return policy
            if match is Match.PARTIAL:
                methods |= context.methods or set()
        return OtherMethods(tuple(sorted(methods))) if methods else NoRoute()

    def __iter__(self) -> Iterator[tuple[str, str, Policy]]:
        """Method, path and policy of all, for those who want to see or try each. A mounted app has the method `*`."""
        for context, policy in self.routes:
            for method in sorted(context.methods or {"*"}):
                yield method, context.path or "", policy


def _declared(context: RouteContext) -> Policy | None:
    """What is guarded is an endpoint that is asked over HTTP, or a mounted app as a whole."""
    match context.original_route:
        case Route():
            return policy_of(context.endpoint)
        case Mount(app=mounted):
            return policy_of(mounted)
        case _:
            return None


def _named(context: RouteContext) -> str:
    methods = "/".join(sorted(context.methods or {type(context.original_route).__name__}))
    return f"{methods} {context.path or context.name}"
