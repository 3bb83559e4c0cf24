"""Whose a run is, which its id says: `TENANT.NAME`. And the journal as one tenant sees it."""

import re
from collections.abc import Iterable, Mapping

from orchestrator.errors import UnknownRun
from orchestrator.events.recorded import Recorded
from orchestrator.journal.protocol import WHOLE_RUN, Journal, Listed, Outline, Writer

_TENANT = re.compile(r"[A-Za-z0-9_-]{1,64}")


def prefix_of(tenant: str) -> str:
    """What the ids of the tenant's runs begin with, and nobody else's. Raises `ValueError` for what can't be a tenant's name."""
    if not _TENANT.fullmatch(tenant):
        raise ValueError(f"{tenant!r} is no name of a tenant: 1 to 64 of A-Z a-z 0-9 _ -")
    return f"{tenant}."


class TenantJournal:
    """A journal in which there are no runs but one tenant's: nothing of others' can be read, written or learnt through it."""

    def __init__(self, journal: Journal, tenant: str) -> None:
        self._journal, self.prefix = journal, prefix_of(tenant)

    async def claim(self, run: str, *, holder: str, ttl: float, scope: str = WHOLE_RUN) -> Writer:
        return await self._journal.claim(self.own(run), holder=holder, ttl=ttl, scope=scope)

    async def read(self, run: str, *, after: int = 0) -> tuple[Recorded, ...]:
        try:
            return await self._journal.read(self.own(run), after=after)
        except UnknownRun:
            raise UnknownRun(run) from None  # the journal's own words name the runs that there are

    async def runs(self) -> tuple[Listed, ...]:
        return tuple(listed for listed in await self._journal.runs() if listed.run.startswith(self.prefix))

    async def outline(self, run: str) -> Outline:
        try:
            return await self._journal.outline(self.own(run))
        except UnknownRun:
            raise UnknownRun(run) from None

    async def outlines(self, prefix: str, *, most: int, before: str = "", unended: bool = False) -> tuple[Outline, ...]:
        if self.prefix.startswith(prefix):
            prefix = self.prefix
        elif not prefix.startswith(self.prefix):
            return ()
        try:
            return await self._journal.outlines(prefix, most=most, before=before and self.own(before), unended=unended)
        except UnknownRun:
            raise UnknownRun(before) from None

    async def durations(self, keys: Iterable[str], *, prefix: str = "") -> Mapping[str, tuple[float, ...]]:
        own = self.prefix if self.prefix.startswith(prefix) else prefix
        return await self._journal.durations(keys, prefix=own) if own.startswith(self.prefix) else {}

    async def forget(self, run: str) -> None:
        try:
            await self._journal.forget(self.own(run))
        except UnknownRun:
            raise UnknownRun(run) from None

    def own(self, run: str) -> str:
        """The run's id, if it is the tenant's. Raises `UnknownRun`."""
        if not run.startswith(self.prefix):
            raise UnknownRun(run)
        return run
