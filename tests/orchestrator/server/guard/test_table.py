"""The table of routes: the app's own matching, with a policy for each."""

from collections.abc import Callable

import pytest
from fastapi import APIRouter, FastAPI
from starlette.applications import Starlette
from starlette.routing import Host, Mount

from orchestrator.server.guard.policies import Policy, declares
from orchestrator.server.guard.table import NoRoute, OtherMethods, Table
from registry.errors import ConfigurationError
from tests.orchestrator.server.guard.house import scope_of


def endpoint() -> None:
    """A route that nobody has thought about."""


def nested() -> FastAPI:
    """Routers in routers, and a route that hides another."""
    inner, outer, app = APIRouter(prefix="/inner"), APIRouter(prefix="/v1"), FastAPI(openapi_url=None)
    inner.get("/{name}")(declares("read")(lambda: None))
    inner.get("/special")(declares("public")(lambda: None))
    inner.post("/{name}")(declares("write")(lambda: None))
    outer.include_router(inner)
    app.include_router(outer)
    app.mount("/page", declares("public")(Starlette()))
    return app


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        pytest.param("GET", "/v1/inner/a", Policy.READ, id="in a router in a router"),
        pytest.param("POST", "/v1/inner/a", Policy.WRITE, id="another method of the path"),
        pytest.param("GET", "/v1/inner/special", Policy.READ, id="the first that fits, as the app would"),
        pytest.param("DELETE", "/v1/inner/a", OtherMethods(("GET", "POST")), id="a method that is not there"),
        pytest.param("GET", "/v1/inner/", NoRoute(), id="an empty name"),
        pytest.param("GET", "/v1/inner/a/", NoRoute(), id="a slash too many"),
        pytest.param("GET", "/v1/inner/a/b", NoRoute(), id="two names"),
        pytest.param("GET", "/page/any/thing", Policy.PUBLIC, id="all of a mounted app"),
        pytest.param("GET", "/pages", NoRoute(), id="beside the mounted app"),
    ],
)
def test_what_holds_for_a_request(method: str, path: str, found: object) -> None:
    """It is what the route says that the app will choose."""
    assert found == Table.of(nested()).find(scope_of(method, path))


@pytest.mark.parametrize(
    ("add", "named"),
    [
        pytest.param(lambda app: app.get("/bare")(endpoint), "GET /bare", id="a route"),
        pytest.param(lambda app: app.post("/a")(endpoint) and app.put("/b")(endpoint), "POST /a, PUT /b", id="two routes"),
        pytest.param(lambda app: app.mount("/page", Starlette()), "Mount /page", id="a mounted app"),
        pytest.param(lambda app: app.router.routes.append(Mount("/m", routes=[])), "Mount /m", id="a mounted list"),
        pytest.param(lambda app: app.router.routes.append(Host("h", Starlette())), "Host", id="another host's app"),
        pytest.param(lambda app: app.websocket("/ws")(declares("read")(lambda: None)), "APIWebSocketRoute /ws", id="a websocket"),
        pytest.param(lambda app: app.include_router(router()), "GET /in/bare", id="in a router"),
    ],
)
def test_what_has_no_policy_is_named(add: Callable[[FastAPI], object], named: str) -> None:
    """Each is named, so nobody has to look for it."""
    app = nested()
    add(app)

    with pytest.raises(ConfigurationError, match=named):
        Table.of(app)


def router() -> APIRouter:
    bare = APIRouter(prefix="/in")
    bare.get("/bare")(endpoint)
    return bare


def test_the_pages_of_the_framework_are_routes_too() -> None:
    """FastAPI's own documentation is not served by the way."""
    with pytest.raises(ConfigurationError, match=r"/openapi\.json.*/docs.*/redoc"):
        Table.of(FastAPI())
