"""Logging in: a browser gives the token once, and gets a cookie that scripts can't read. Its event streams can't send headers."""

from typing import Annotated

import anyio
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from orchestrator.server.guard import Keys, declares
from orchestrator.server.guard.refusals import wrong_token
from orchestrator.server.guard.sessions import LASTING, cookie_name
from orchestrator.server.problems import problem
from orchestrator.server.routes.asked import problems

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {"token": {"type": "string", "format": "password", "maxLength": 1024}},
                    "required": ["token"],
                    "additionalProperties": False,
                }
            }
        },
    }
}


class _Login(BaseModel):
    model_config = ConfigDict(extra="forbid")

    token: Annotated[SecretStr, Field(max_length=1024)]


def login_routes(keys: Keys) -> APIRouter:
    """`POST /v1/login` and `POST /v1/logout`, for these keys."""
    router = APIRouter(tags=["login"])

    @router.post("/v1/login", status_code=204, openapi_extra=_BODY, responses=problems())
    @declares("login")
    async def log_in(request: Request) -> Response:
        """Exchange the token for a cookie: HttpOnly, SameSite=Strict, and Secure where the server is reached over TLS."""
        try:
            token = _Login.model_validate_json(await request.body()).token.get_secret_value()
        except ValidationError:  # which quotes what was sent
            return problem(400, "bad-request", 'the body must be {"token": "..."}')
        peer, now = request.client.host if request.client else "", anyio.current_time()
        seconds = keys.wait(peer, now)
        if keys.show(token, peer, now) is None:
            return wrong_token(seconds).response()
        return _with_cookie(request, keys.log_in(token), lasting=LASTING)

    @router.post("/v1/logout", status_code=204, responses=problems())
    @declares("login")
    async def log_out(request: Request) -> Response:
        """End the session of the cookie, and take the cookie away."""
        keys.log_out(request.cookies.get(cookie_name(request.url.scheme), ""))
        return _with_cookie(request, "", lasting=0)

    return router


def _with_cookie(request: Request, value: str, *, lasting: int) -> Response:
    scheme = request.url.scheme
    response = Response(status_code=204)
    response.set_cookie(
        cookie_name(scheme), value, max_age=lasting, path="/", secure=scheme == "https", httponly=True, samesite="strict"
    )
    return response
