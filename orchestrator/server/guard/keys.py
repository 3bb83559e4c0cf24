"""Who is asking: a token or a cookie in, a grant out, and few guesses for each peer."""

import hmac
import ipaddress
from collections.abc import Callable
from datetime import datetime

from orchestrator.server.guard.rates import Rates
from orchestrator.server.guard.sessions import Sessions
from orchestrator.server.guard.tokens import Grant, Grants, digest_of
from registry.errors import ConfigurationError

GUESSES = 0.2, 10
"""Wrong tokens of one peer: so many a second, after so many at once."""


class Keys:
    """What the server knows of its tokens. `now` is the wall clock, `draw` gives a new random text that fits into a cookie.

    Raises `ConfigurationError` where nobody could come in.
    """

    def __init__(self, grants: Grants, *, now: Callable[[], datetime], draw: Callable[[], str]) -> None:
        if not grants:
            raise ConfigurationError("there is no token: set DAGWRIGHT_TOKEN")
        self._grants = dict(grants)
        self._sessions = Sessions(self._grants)
        self._guesses = Rates(*GUESSES)
        self._now, self._draw = now, draw
        self._when_logged_out: list[Callable[[str], None]] = []

    def wait(self, peer: str, now: float) -> float:
        """Seconds until the peer may be wrong again, for it has shown too many wrong tokens. `now` is monotonic.

        A right one is let in all the same: nobody guesses 32 random characters, and many people may share an address with one
        forgotten program whose token is out of date.
        """
        return self._guesses.wait(network_of(peer), now)

    def show(self, token: str, peer: str, now: float) -> Grant | None:
        """What the token grants, None for a wrong one. It takes as long whichever token it is, and however wrong."""
        shown = digest_of(token)
        fitting = [grant for digest, grant in self._grants.items() if hmac.compare_digest(digest, shown)]
        if not fitting:
            if not self.wait(peer, now):
                self._guesses.take(network_of(peer), now)
            return None
        return fitting[0]

    def log_in(self, token: str) -> str:
        """A cookie instead of the token, which must be a right one."""
        return self._sessions.begin(digest_of(token), self._draw(), self._seconds())

    def recall(self, cookie: str) -> Grant | None:
        """What the cookie grants, None for one that is not or no longer good."""
        digest = self._sessions.digest(cookie, self._seconds())
        return None if digest is None else self._grants[digest]

    def log_out(self, cookie: str) -> None:
        """The cookie is good for nothing from now on."""
        self._sessions.end(cookie, self._seconds())
        for told in self._when_logged_out:
            told(cookie)

    def when_logged_out(self, told: Callable[[str], None]) -> None:
        """Have it told of each cookie that is good for nothing any more."""
        self._when_logged_out.append(told)

    def _seconds(self) -> float:
        return self._now().timestamp()


def network_of(peer: str) -> str:
    """The peer's address; of version 6 the network, since whoever has one address there has all of it."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return peer
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address.packed, 64), strict=False))
