"""Who is let in, decided without reading a body: what the table of `test_layer` does not ask."""

import pytest

from orchestrator.server.guard import refusals
from orchestrator.server.guard.admission import Admission, Anybody
from orchestrator.server.guard.origins import Hosts
from orchestrator.server.guard.rates import Rates
from orchestrator.server.guard.refusals import Refusal
from orchestrator.server.guard.table import Table
from orchestrator.server.guard.tokens import Grant
from tests.orchestrator.server.guard.house import HARBOUR, HOST, LIGHTS, app, bearer, keys, scope_of


def admission() -> Admission:
    return Admission(Table.of(app()), keys(), Hosts.of(HOST), Rates(1, 2))


def test_who_it_is() -> None:
    """A tenant where a token is needed, anybody where none is."""
    doors = admission()

    assert Grant(tenant="lights") == doors.decide(scope_of("GET", "/v1/runs/a", [bearer(LIGHTS)]), 0)
    assert Anybody() == doors.decide(scope_of("GET", "/health", [bearer(LIGHTS)]), 0)


def test_a_token_goes_before_a_cookie() -> None:
    """A wrong token is not made good by a cookie."""
    cookie = ("cookie", f"dagwright={keys().log_in(HARBOUR)}")

    assert refusals.WRONG_TOKEN == admission().decide(scope_of("GET", "/v1/runs/a", [bearer("w" * 40), cookie]), 0)
    assert Grant(tenant="harbour") == admission().decide(scope_of("GET", "/v1/runs/a", [cookie]), 0)


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/runs"])
def test_what_is_not_done_is_not_counted(path: str) -> None:
    """Only requests that reach the app use up a tenant's rate."""
    doors = admission()
    for _ in range(5):
        assert isinstance(doors.decide(scope_of("GET", path, [bearer(HARBOUR)]), 0), Refusal)

    assert Grant(tenant="harbour") == doors.decide(scope_of("GET", "/v1/runs/a", [bearer(HARBOUR)]), 0)


def test_a_foreign_page_learns_nothing() -> None:
    """What it is told does not depend on its token or on what there is."""
    elsewhere = ("origin", "http://elsewhere.test")
    told = {
        admission().decide(scope_of("GET", path, [elsewhere, bearer(token)]), 0)
        for path in ("/v1/runs/a", "/v1/nothing", "/health")
        for token in (HARBOUR, "w" * 40)
    }

    assert {refusals.OTHER_ORIGIN} == told
