"""Which rungs a model's endpoint has refused lately, so that it is not asked in vain each time."""

from registry.expiring import Expiring
from registry.models.model import Model
from registry.structured.ladder import RungName

REMEMBERED = 3600.0
"""Seconds after which a refused rung is tried again: servers are upgraded."""

# A model goes by its name, for the layers around it may be made anew for each run.
_refused: Expiring[tuple[str, RungName], bool] = Expiring("refused rungs", seconds=REMEMBERED)


def remember(model: Model, rung: RungName) -> None:
    """The endpoint of this model does not know this way of asking."""
    _refused.learn((model.name, rung), True)


def holds(model: Model, rung: RungName) -> bool:
    """Whether the rung is not worth asking."""
    return _refused.known((model.name, rung)) is not None
