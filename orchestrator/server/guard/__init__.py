"""Who may use the server: one layer around the app that lets nobody in by default."""

from orchestrator.server.guard.bodies import BodyLimits
from orchestrator.server.guard.keys import Keys
from orchestrator.server.guard.layer import Guard
from orchestrator.server.guard.limits import GuardLimits
from orchestrator.server.guard.origins import Hosts
from orchestrator.server.guard.policies import Policy, declares
from orchestrator.server.guard.table import Table
from orchestrator.server.guard.tokens import Grant, kept_token, read_tenants, sole_grant

__all__ = [
    "BodyLimits",
    "Grant",
    "Guard",
    "GuardLimits",
    "Hosts",
    "Keys",
    "Policy",
    "Table",
    "declares",
    "kept_token",
    "read_tenants",
    "sole_grant",
]
