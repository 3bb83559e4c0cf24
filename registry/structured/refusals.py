"""Which rungs a model's endpoint has refused lately, so that it is not asked in vain each time."""

from weakref import WeakKeyDictionary

from registry.models.model import Model
from registry.structured.ladder import RungName

REMEMBERED = 3600.0
"""Seconds after which a refused rung is tried again: servers are upgraded."""


class Refusals:
    """What was refused, by model. It is forgotten with the model, or after `REMEMBERED` seconds. `now` is monotonic."""

    def __init__(self) -> None:
        self._until: WeakKeyDictionary[Model, dict[RungName, float]] = WeakKeyDictionary()

    def remember(self, model: Model, rung: RungName, now: float) -> None:
        self._until.setdefault(model, {})[rung] = now + REMEMBERED

    def holds(self, model: Model, rung: RungName, now: float) -> bool:
        """Whether the rung is not worth asking at `now`."""
        return now < self._until.get(model, {}).get(rung, now)
