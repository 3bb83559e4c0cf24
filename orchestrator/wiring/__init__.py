"""Connects the models that settings name: the only place that knows which parts make one.

Outside in, a model is: fallback (where there is another) -> retry -> governor -> price -> wire, and all share one HTTP door.
"""

from orchestrator.wiring.choosing import Chosen, choose, hints, offered, roles_asked
from orchestrator.wiring.pricing import tariff_named, tariff_of
from orchestrator.wiring.providers import EMBEDDED
from orchestrator.wiring.stack import connect, wired

__all__ = ["EMBEDDED", "Chosen", "choose", "connect", "hints", "offered", "roles_asked", "tariff_named", "tariff_of", "wired"]
