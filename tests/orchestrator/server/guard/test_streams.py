"""Places for event streams."""

import anyio
import pytest

from orchestrator.server.guard.streams import Streams

pytestmark = pytest.mark.anyio


async def opened(streams: Streams, tenant: str, scope: anyio.CancelScope, session: str = "") -> bool:
    """Whether there was a place."""
    with scope:
        await streams.open(tenant, session, scope)
    return not scope.cancel_called


async def test_each_tenant_has_so_many() -> None:
    """A place that is left can be had again, also by one who never had it."""
    streams, first, second = Streams(1), anyio.CancelScope(), anyio.CancelScope()

    assert await opened(streams, "a", first)
    assert not await opened(streams, "a", second)
    assert await opened(streams, "b", anyio.CancelScope())
    streams.leave("a", second)
    assert not await opened(streams, "a", anyio.CancelScope())
    streams.leave("a", first)
    assert await opened(streams, "a", anyio.CancelScope())


async def test_closing_ends_all() -> None:
    """Those that are open are cancelled, and nobody finds a place any more."""
    streams, scopes = Streams(5), [anyio.CancelScope() for _ in range(3)]
    for scope, tenant in zip(scopes, "aab", strict=True):
        assert await opened(streams, tenant, scope)
    streams.close()

    assert all(scope.cancel_called for scope in scopes)
    assert not await opened(streams, "c", anyio.CancelScope())


async def test_the_end_of_a_session_is_that_of_its_streams() -> None:
    """Of others of the tenant, and of those that are in no session, it is not."""
    streams, scopes = Streams(5), [anyio.CancelScope() for _ in range(4)]
    for scope, session in zip(scopes, ("one", "other", "one", ""), strict=True):
        assert await opened(streams, "a", scope, session)
    streams.end("one")
    streams.end("")

    assert [True, False, True, False] == [scope.cancel_called for scope in scopes]
