"""Which names the server answers to, and from which pages: the defence against other people's pages in a user's browser.

A page elsewhere can make a browser ask us, with the user's cookie, and can make its own name point at our address. It can't
choose the headers Host, Origin and Sec-Fetch-Site.
"""

import ipaddress
import re

from msgspec import Struct

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
ANYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104  # compared with, not bound to

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_USUAL_PORTS = {"http": ":80", "https": ":443"}


class Hosts(Struct, frozen=True):
    """The names by which the server is known, in small letters and without ports.

    `addresses`: any address will do as well. A name can be made to point at us, an address always says where it leads.
    """

    names: frozenset[str]
    addresses: bool = False

    @classmethod
    def of(cls, bound: str, allowed: tuple[str, ...] = ()) -> "Hosts":
        """What a server bound there goes by, and the further names that are allowed."""
        own = LOOPBACK if bound in LOOPBACK | ANYWHERE else {bound.lower()}
        return cls(frozenset({*own, *(name.lower() for name in allowed)}), addresses=bound in ANYWHERE)

    def admit(self, host: str) -> bool:
        """Whether a request with this Host header is meant for us."""
        if not (found := _HOST.fullmatch(host)):
            return False
        name = found[1].strip("[]").lower().removesuffix(".")
        return name in self.names or (self.addresses and _is_address(name))


def same_origin(origin: str, host: str, scheme: str) -> bool:
    """Whether the page is one of ours, for a request that came to this host. Over TLS, it must have come so itself.

    Without TLS a page of either kind is ours: a proxy may have taken it off.
    """
    schemes = ("https",) if scheme == "https" else ("http", "https")
    return origin in {f"{kind}://{host.lower().removesuffix(_USUAL_PORTS[kind])}" for kind in schemes}


def asked_by_a_page_elsewhere(sec_fetch_site: str) -> bool:
    """Whether a browser says that another site's page is behind the request: of the same site too, which may be another port."""
    return sec_fetch_site not in ("", "same-origin", "none")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
