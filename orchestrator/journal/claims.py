"""Claims in a database: who may write to which scope of a run."""

import sqlite3

from msgspec import Struct

from orchestrator.errors import LeaseLost, RunHeld
from orchestrator.journal.holders import Presence


class Claim(Struct, frozen=True, kw_only=True):
    """`number` is the run's in the database. No other run ever gets it, not even a later one of the same name."""

    run: str
    number: int
    scope: str
    epoch: int


class Claims:
    """The table of claims within one transaction, at the moment `now`."""

    def __init__(self, connection: sqlite3.Connection, presence: Presence, now: float) -> None:
        self._connection, self._presence, self._now = connection, presence, now

    def held(self, number: int, scope: str) -> tuple[str, float] | None:
        """Who holds the scope and is alive, and for how many seconds more without a renewal."""
        query = "SELECT holder, token, until FROM claims WHERE run = ? AND scope = ?"
        holder, token, until = self._connection.execute(query, (number, scope)).fetchone() or ("", "", 0.0)
        return (holder, until - self._now) if holder and until > self._now and self._presence.is_alive(token) else None

    def scopes(self, number: int) -> list[str]:
        return [scope for (scope,) in self._connection.execute("SELECT scope FROM claims WHERE run = ?", (number,))]

    def refuse_held(self, run: str, number: int, scope: str, *, but_by: str = "") -> None:
        """Raises `RunHeld` while another holds the scope."""
        held = self.held(number, scope)
        if held is not None and held[0] != but_by:
            raise RunHeld(run, *held)

    def take(self, run: str, number: int, scope: str, *, holder: str, ttl: float) -> Claim:
        epoch = self._epoch(number, scope) + 1
        values = (number, scope, epoch, holder, self._presence.token(), self._now + ttl)
        self._connection.execute(
            "REPLACE INTO claims (run, scope, epoch, holder, token, until) VALUES (?, ?, ?, ?, ?, ?)", values
        )
        return Claim(run=run, number=number, scope=scope, epoch=epoch)

    def refuse_lost(self, claim: Claim) -> None:
        """Raises `LeaseLost` when the claim is not the latest of its scope."""
        epoch = self._epoch(claim.number, claim.scope)
        if epoch != claim.epoch:
            raise LeaseLost(claim.run, claim.epoch, epoch)

    def extend(self, claim: Claim, until: float) -> None:
        self._connection.execute("UPDATE claims SET until = ? WHERE run = ? AND scope = ?", (until, claim.number, claim.scope))

    def release(self, claim: Claim) -> None:
        query = "UPDATE claims SET holder = '', token = '', until = 0 WHERE run = ? AND scope = ? AND epoch = ?"
        self._connection.execute(query, (claim.number, claim.scope, claim.epoch))

    def _epoch(self, number: int, scope: str) -> int:
        found = self._connection.execute("SELECT epoch FROM claims WHERE run = ? AND scope = ?", (number, scope)).fetchone()
        return found[0] if found else 0
