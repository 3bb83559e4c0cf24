"""What the head of a request says that matters to whether it is let in."""

import re

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

from orchestrator.server.guard.sessions import cookie_name

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""

_BEARER = re.compile(r"bearer( .*|)", re.IGNORECASE | re.DOTALL)


class Visit(Struct, frozen=True, kw_only=True):
    """Texts are empty where the head does not say. `tokens` has one for each Authorization header of the kind Bearer.

    `peer` is an address, `site` the browser's own word on where the page is (Sec-Fetch-Site), `cookie` that of the session.
    """

    method: str
    scheme: str
    peer: str
    host: str
    origin: str
    site: str
    tokens: tuple[str, ...]
    cookie: str

    @classmethod
    def of(cls, scope: Scope) -> "Visit":
        """Two Host headers name no host, and two Origin headers no page."""
        headers = Headers(scope=scope)
        return cls(
            method=scope["method"],
            scheme=scope["scheme"],
            peer=(scope.get("client") or ("",))[0],
            host=", ".join(headers.getlist("host")),
            origin=", ".join(headers.getlist("origin")),
            site=", ".join(headers.getlist("sec-fetch-site")),
            tokens=tuple(found[1].strip() for found in map(_BEARER.fullmatch, headers.getlist("authorization")) if found),
            cookie=cookie_parser("; ".join(headers.getlist("cookie"))).get(cookie_name(scope["scheme"]), ""),
        )

    @property
    def session(self) -> str:
        """The cookie, where that is what lets it in."""
        return "" if self.tokens else self.cookie

    @property
    def is_safe(self) -> bool:
        return self.method in SAFE
