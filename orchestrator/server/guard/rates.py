"""How often somebody may ask: a bucket for each, of which the longest unused are forgotten."""

from collections import OrderedDict

from registry.governor.bucket import Bucket

REMEMBERED = 10_000
"""How many have a bucket at once."""


class Rates:
    """`burst` at once and then `rate` a second, for each by itself. Moments are monotonic seconds."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def wait(self, who: str, now: float) -> float:
        """Seconds until they may ask once more; zero for at once."""
        bucket = self._buckets.get(who)
        return 0.0 if bucket is None else max(0.0, bucket.due(1.0, now) - now)

    def take(self, who: str, now: float) -> None:
        """They have asked."""
        bucket = self._buckets.setdefault(who, Bucket(most=self._rate, spread=self._burst / self._rate))
        self._buckets.move_to_end(who)
        bucket.take(1.0, now)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
