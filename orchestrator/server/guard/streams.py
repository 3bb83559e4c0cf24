"""The event streams that are open: so many for each tenant, ended with their session, and all of them when the server ends."""

from collections import defaultdict

from anyio import CancelScope
from anyio.lowlevel import checkpoint


class Streams:
    """`most` is how many a tenant may have open."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: defaultdict[str, dict[CancelScope, str]] = defaultdict(dict)
        self._closed = False

    async def open(self, tenant: str, session: str, scope: CancelScope) -> None:
        """Takes a place for the stream that `scope` ends; where there is none, ends it. `session` is empty for none."""
        if self._closed or len(self._open[tenant]) >= self._most:
            scope.cancel()
        else:
            self._open[tenant][scope] = session
        await checkpoint()

    def leave(self, tenant: str, scope: CancelScope) -> None:
        """Its place is free again, if it had one."""
        self._open[tenant].pop(scope, None)

    def end(self, session: str) -> None:
        """Ends those of a session that is over."""
        for scopes in self._open.values():
            for scope, opened_by in scopes.items():
                if session and opened_by == session:
                    scope.cancel()

    def close(self) -> None:
        """Ends all that are open; no other is opened."""
        self._closed = True
        for scopes in self._open.values():
            for scope in scopes:
                scope.cancel()
