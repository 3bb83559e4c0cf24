"""Whether a request is let in: who asks, from where, and what for. Nothing of its body is read for that."""

from typing import assert_never

from msgspec import Struct
from starlette.types import Scope

from orchestrator.server.guard import refusals
from orchestrator.server.guard.keys import Keys
from orchestrator.server.guard.origins import Hosts, asked_by_a_page_elsewhere, same_origin
from orchestrator.server.guard.policies import Policy
from orchestrator.server.guard.rates import Rates
from orchestrator.server.guard.refusals import Refusal, too_many
from orchestrator.server.guard.table import NoRoute, OtherMethods, Table
from orchestrator.server.guard.tokens import Grant
from orchestrator.server.guard.visits import Visit


class Anybody(Struct, frozen=True):
    """Whoever asks may, and nobody knows who it is."""


class Admission:
    """`rates` are those of tenants."""

    def __init__(self, table: Table, keys: Keys, hosts: Hosts, rates: Rates) -> None:
        self._table, self._keys, self._hosts, self._rates = table, keys, hosts, rates

    def decide(self, scope: Scope, now: float) -> Grant | Anybody | Refusal:
        """Who is let in, or why nobody is. `now` is monotonic. Counts what is limited."""
        visit = Visit.of(scope)
        if not self._hosts.admit(visit.host):
            return refusals.OTHER_HOST
        if visit.origin and not same_origin(visit.origin, visit.host, visit.scheme):
            return refusals.OTHER_ORIGIN
        policy = self._table.find(scope)
        match policy:
            case Policy.PUBLIC:
                return Anybody()
            case Policy.LOGIN:
                return _of_our_pages(visit) or Anybody()
        who = self._who(visit, now)
        return who if isinstance(who, Refusal) else _not_for(who, policy) or self._hurrying(who, now) or who

    def _who(self, visit: Visit, now: float) -> Grant | Refusal:
        match visit.tokens:
            case ():
                return self._logged_in(visit)
            case (token,):
                seconds = self._keys.wait(visit.peer, now)
                return self._keys.show(token, visit.peer, now) or refusals.wrong_token(seconds)
            case _:
                return refusals.TWO_CREDENTIALS

    def _logged_in(self, visit: Visit) -> Grant | Refusal:
        """A browser sends its cookie whichever page makes it ask, so it is asked which."""
        if not visit.cookie:
            return refusals.NO_CREDENTIALS
        if wrong := _of_our_pages(visit):
            return wrong
        if not visit.is_safe and not visit.origin and visit.site != "same-origin":
            return refusals.NO_ORIGIN
        return self._keys.recall(visit.cookie) or refusals.SESSION_OVER

    def _hurrying(self, grant: Grant, now: float) -> Refusal | None:
        if seconds := self._rates.wait(grant.tenant, now):
            return too_many("too many requests at once", seconds)
        self._rates.take(grant.tenant, now)
        return None


def _of_our_pages(visit: Visit) -> Refusal | None:
    return refusals.OTHER_ORIGIN if asked_by_a_page_elsewhere(visit.site) else None


def _not_for(grant: Grant, policy: Policy | NoRoute | OtherMethods) -> Refusal | None:
    """Why the one who asks can't have this, None if they can."""
    match policy:
        case NoRoute():
            return refusals.NOTHING_HERE
        case OtherMethods(methods):
            return refusals.other_methods(methods)
        case Policy.WRITE:
            return None if grant.writes else refusals.READS_ONLY
        case Policy.READ | Policy.PUBLIC | Policy.LOGIN:
            return None
        case _:
            assert_never(policy)
