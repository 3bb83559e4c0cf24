"""Which rungs a model has refused lately, so that it is not asked in vain each time."""

from registry.errors import Refused
from registry.expiring import Expiring
from registry.models.model import Model
from registry.structured.ladder import RungName

REMEMBERED = 3600.0
"""Seconds after which a refused rung is tried again: servers are upgraded."""

# A model goes by its endpoint and name, for the layers around it may be made anew for each run.
_refused: Expiring[tuple[str, str, RungName], bool] = Expiring(seconds=REMEMBERED)


def remember(model: Model, rung: RungName, refusal: Refused) -> None:
    """This way of asking is not known where the refusal comes from: behind `model`, or at the one that the refusal names."""
    who = (refusal.endpoint, refusal.model) if refusal.model else (model.endpoint, model.name)
    _refused.learn((*who, rung), True)


def holds(model: Model, rung: RungName) -> bool:
    """Whether the rung is not worth asking."""
    return _refused.known((model.endpoint, model.name, rung)) is not None
