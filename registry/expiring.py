"""What was learnt from outside and may change there: kept for a while, and then asked for again."""

from collections.abc import Hashable
from typing import Generic, TypeVar

import anyio

from registry.loops import PerLoop

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Expiring(Generic[K, V]):
    """Values by key, each for so many `seconds`, `most` of them: past that the one learnt first goes.

    Each event loop has its own, for the moments on its clock mean nothing in another one.
    """

    def __init__(self, *, seconds: float, most: int = 1024) -> None:
        self._seconds, self._most = seconds, most
        self._kept: PerLoop[dict[K, tuple[float, V]]] = PerLoop(dict)
        self._untaught = True

    def learn(self, key: K, value: V) -> None:
        """Keep the value, from now on."""
        self._untaught = False
        kept = self._kept.get()
        kept.pop(key, None)
        kept[key] = (anyio.current_time() + self._seconds, value)
        if len(kept) > self._most:
            del kept[next(iter(kept))]

    def known(self, key: K) -> V | None:
        """The value, or None when it was never learnt or is out of date."""
        if self._untaught:  # which most stay
            return None
        found = self._kept.get().get(key)
        return found[1] if found is not None and anyio.current_time() < found[0] else None
