"""Sessions: what a browser holds in a cookie instead of the token.

A cookie is signed with a key that is made of its token, so it survives a restart of the server and dies with the token.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable

COOKIE = "dagwright"
"""The cookie's name; over TLS it is `__Host-dagwright`, which no other host and no unencrypted page can set."""

LASTING = 12 * 3600
"""Seconds after which one has to log in again."""

_COOKIE = re.compile(r"([0-9a-f]{16})\.([0-9]{1,12})\.([A-Za-z0-9_-]{16,64})\.([0-9a-f]{64})")


def cookie_name(scheme: str) -> str:
    return f"__Host-{COOKIE}" if scheme == "https" else COOKIE


class Sessions:
    """`digests` are those of the tokens. Moments are seconds of the wall clock."""

    def __init__(self, digests: Iterable[bytes]) -> None:
        self._digests = {_name(digest): digest for digest in digests}
        self._ended: dict[str, int] = {}

    def begin(self, digest: bytes, nonce: str, now: float) -> str:
        """The value of a new cookie for whoever has shown the token. `nonce` is drawn at random."""
        said = f"{_name(digest)}.{int(now) + LASTING}.{nonce}"
        return f"{said}.{_mac(digest, said)}"

    def digest(self, cookie: str, now: float) -> bytes | None:
        """That of the token which the cookie stands for; None for one that is not ours, is over or has ended."""
        if not (found := _COOKIE.fullmatch(cookie)):
            return None
        name, until, nonce, mac = found.groups()
        digest = self._digests.get(name)
        if digest is None or not hmac.compare_digest(mac, _mac(digest, f"{name}.{until}.{nonce}")):
            return None
        return digest if now < int(until) and nonce not in self._ended else None

    def end(self, cookie: str, now: float) -> None:
        """From now on the cookie is good for nothing, until the server is started anew."""
        self._ended = {nonce: until for nonce, until in self._ended.items() if now < until}
        if self.digest(cookie, now) is not None:
            _, until, nonce, _ = cookie.split(".")
            self._ended[nonce] = int(until)


def _name(digest: bytes) -> str:
    """By which a cookie names its token."""
    return hmac.new(digest, b"dagwright cookie name", hashlib.sha256).hexdigest()[:16]


def _mac(digest: bytes, said: str) -> str:
    return hmac.new(digest, b"dagwright cookie " + said.encode(), hashlib.sha256).hexdigest()
