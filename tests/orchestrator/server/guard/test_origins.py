"""Names that are ours, and pages that are not."""

import pytest

from orchestrator.server.guard.origins import Hosts, asked_by_a_page_elsewhere, same_origin

LOCAL, NAMED = Hosts.of("127.0.0.1"), Hosts.of("192.0.2.7", ("Dag.example.org",))
EVERYWHERE = Hosts.of("0.0.0.0", ("dag.example.org",))


@pytest.mark.parametrize(
    ("hosts", "host", "admitted"),
    [
        (LOCAL, "127.0.0.1:8321", True),
        (LOCAL, "localhost", True),
        (LOCAL, "LOCALHOST:1", True),
        (LOCAL, "localhost.", True),
        (LOCAL, "[::1]:8321", True),
        (LOCAL, "127.0.0.2", False),
        (LOCAL, "elsewhere.test", False),
        (LOCAL, "localhost.elsewhere.test", False),
        (LOCAL, "localhost:8321:1", False),
        (LOCAL, "localhost@elsewhere.test", False),
        (LOCAL, "localhost, elsewhere.test", False),
        (LOCAL, "localhost\n", False),
        (LOCAL, "", False),
        (NAMED, "dag.example.org", True),
        (NAMED, "192.0.2.7:80", True),
        (NAMED, "localhost", False),
        (NAMED, "192.0.2.8", False),
        (EVERYWHERE, "dag.example.org", True),
        (EVERYWHERE, "localhost", True),
        (EVERYWHERE, "192.0.2.8", True),
        (EVERYWHERE, "[2001:db8::1]:80", True),
        (EVERYWHERE, "elsewhere.test", False),
        (EVERYWHERE, "999.0.0.1", False),
    ],
)
def test_which_hosts_are_ours(hosts: Hosts, host: str, admitted: bool) -> None:
    """Names are those that were said; an address will do where all of them are listened on, for it can't be made to lie."""
    assert admitted == hosts.admit(host)


@pytest.mark.parametrize(
    ("origin", "host", "scheme", "same"),
    [
        ("http://dag.test", "dag.test", "http", True),
        ("http://dag.test:8321", "dag.test:8321", "http", True),
        ("http://dag.test", "dag.test:80", "http", True),
        ("http://[::1]:8321", "[::1]:8321", "http", True),
        ("https://dag.test", "dag.test", "https", True),
        ("https://dag.test", "dag.test", "http", True),
        ("http://dag.test", "dag.test", "https", False),
        ("http://dag.test:3000", "dag.test:8321", "http", False),
        ("http://dag.test", "dag.test:8321", "http", False),
        ("http://a.dag.test", "dag.test", "http", False),
        ("http://dag.test.elsewhere.test", "dag.test", "http", False),
        ("http://elsewhere.test@dag.test", "dag.test", "http", False),
        ("http://dag.test/path", "dag.test", "http", False),
        ("http://dag.test, http://elsewhere.test", "dag.test", "http", False),
        ("http://dag.test:x", "dag.test", "http", False),
        ("ftp://dag.test", "dag.test", "http", False),
        ("null", "dag.test", "http", False),
        ("http://[", "dag.test", "http", False),
        ("http://", "dag.test", "http", False),
    ],
)
def test_which_pages_are_ours(origin: str, host: str, scheme: str, same: bool) -> None:
    """Those of the same name and port; over TLS those that came over it."""
    assert same == same_origin(origin, host, scheme)


@pytest.mark.parametrize(
    ("site", "elsewhere"),
    [("", False), ("same-origin", False), ("none", False), ("same-site", True), ("cross-site", True), ("new word", True)],
)
def test_what_browsers_say_of_a_page(site: str, elsewhere: bool) -> None:
    """Another port of this machine is elsewhere, and so is what we don't know."""
    assert elsewhere == asked_by_a_page_elsewhere(site)
