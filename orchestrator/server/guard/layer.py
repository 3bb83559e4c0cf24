"""The one layer around the app: nothing reaches the app, and nothing leaves it, but through here."""

from typing import assert_never

import anyio
from fastapi import FastAPI
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.logs import note
from orchestrator.server.guard.admission import Admission, Anybody
from orchestrator.server.guard.bodies import TooDeep, TooLarge, TooSlow, read_body, replayed
from orchestrator.server.guard.keys import Keys
from orchestrator.server.guard.limits import GuardLimits
from orchestrator.server.guard.origins import Hosts
from orchestrator.server.guard.outgoing import Outgoing, lingering
from orchestrator.server.guard.rates import Rates
from orchestrator.server.guard.refusals import Refusal, too_many
from orchestrator.server.guard.streams import Streams
from orchestrator.server.guard.table import Table
from orchestrator.server.guard.tokens import Grant
from orchestrator.server.guard.visits import Visit

FULL = 5.0
"""Seconds after which whoever found no place for a stream may ask again."""


class Guard:
    """An ASGI app: the one inside, for those who may use it. Raises `ConfigurationError` where a route has no policy.

    The app inside finds the tenant in `scope["state"]["tenant"]`.
    """

    def __init__(self, app: FastAPI, *, keys: Keys, hosts: Hosts, limits: GuardLimits | None = None) -> None:
        self.limits = limits or GuardLimits()
        self.table = Table.of(app)
        self.streams = Streams(self.limits.streams)
        self._app: ASGIApp = app
        self._admission = Admission(self.table, keys, hosts, Rates(self.limits.rate, self.limits.burst))
        keys.when_logged_out(self.streams.end)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. What is not HTTP is refused."""
        match scope["type"]:
            case "http":
                await self._answer(scope, receive, Outgoing(send))
            case "lifespan":
                await self._app(scope, receive, send)
            case _:
                await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Outgoing) -> None:
        decided = self._admission.decide(scope, anyio.current_time())
        if isinstance(decided, Refusal):
            note("request_refused", status=decided.status, kind=decided.slug, peer=(scope.get("client") or ("",))[0])
            await decided.response()(scope, receive, send)
            return
        headers = dict(scope["headers"])
        try:
            body = await read_body(
                receive,
                self.limits.body,
                length=headers.get(b"content-length", b""),
                content_type=headers.get(b"content-type", b""),
            )
        except ClientDisconnect:
            return
        if isinstance(body, bytes):
            await self._let_in(scope, replayed(body, receive), send, decided)
        else:
            await lingering(self._unfit(body), receive, send)

    async def _let_in(self, scope: Scope, receive: Receive, send: Outgoing, who: Grant | Anybody) -> None:
        tenant = who.tenant if isinstance(who, Grant) else ""
        if tenant:
            scope.setdefault("state", {})["tenant"] = tenant
        with anyio.CancelScope() as ending:
            send.at_a_stream = lambda: self.streams.open(tenant, Visit.of(scope).session, ending)
            try:
                await self._app(scope, receive, send)
            finally:
                self.streams.leave(tenant, ending)
        if ending.cancelled_caught:
            await self._break_off(scope, receive, send)

    async def _break_off(self, scope: Scope, receive: Receive, send: Outgoing) -> None:
        """The stream found no place, or its session or the server ends: then it is closed as if it were over."""
        if not send.has_begun:
            await too_many("too many event streams are open", FULL).response()(scope, receive, send)
        elif not send.is_over:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _unfit(self, body: TooLarge | TooSlow | TooDeep) -> Refusal:
        limits = self.limits.body
        match body:
            case TooLarge():
                return Refusal(status=413, slug="too-large", detail=f"the body has more than {limits.size} bytes")
            case TooSlow():
                return Refusal(status=408, slug="too-slow", detail=f"the body was not there within {limits.seconds:g} s")
            case TooDeep(why):
                return Refusal(status=400, slug="too-deep", detail=f"the body is not read: {why}")
            case _:
                assert_never(body)
