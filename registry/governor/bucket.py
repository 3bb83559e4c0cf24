"""How fast requests or tokens may go to an endpoint: a bucket that fills evenly, by what is set, told and found out.

Nothing here waits or asks a clock: every moment is an argument, in seconds.
"""

import math
from collections import deque
from dataclasses import dataclass, field

from registry.allowances import Allowance

MARGIN = 0.94
"""The part of a known rate that is used: requests that leave evenly don't arrive evenly."""

AFTER_REFUSAL = 220.0
AFTER_OUTAGE = 3.0
"""Seconds until a rate that nobody told has doubled: it is tried out, gently at first. An outage says little of rates."""

KEPT = 0.7
"""The part of a rate that is kept at least when it is found to be too high."""

MEASURED = 1.0
"""Seconds over which a rate is measured when there was no refusal before."""

NOISE = 2, 0.01
"""So many requests, and such a part of all, may be refused though they keep to the rate: some are late, and meet the next."""

MEMORY = 60.0
"""Seconds for which the last refusal counts as the beginning of what is measured."""

EVENLY = 0.05
IN_LUMPS = 10.0
"""Seconds' worth of a rate that is saved up where nobody tells how large the endpoint's own bucket is."""

LEAST = 1.5
"""What is always saved up: one, and the time that was lost because its sender woke late."""

_NEARLY = 1e-9


@dataclass(slots=True)
class Bucket:
    """How much may go now, its `level`, and how fast that grows.

    `most` is the rate that is set, for a second. `told` is the endpoint's own word, and `found` what a refusal or an outage
    taught, which doubles in so many seconds; the least of the three counts. `paced` is the moment from which requests have left
    by what is known now. A bucket of which nothing is known holds as much as anybody wants, another so many seconds' worth as
    its `spread`, or what the endpoint's own one holds.
    """

    most: float = math.inf
    spread: float = EVENLY
    told: float = math.inf
    found: float = math.inf
    doubling: float = AFTER_REFUSAL
    capacity: float = field(init=False)
    level: float = field(init=False)
    at: float = -math.inf
    paced: float = -math.inf

    def __post_init__(self) -> None:
        self.capacity = self._worth(self.most)
        self.level = max(1.0, self.most * self.spread)

    def rate(self, now: float) -> float:
        """How many a second."""
        return MARGIN * min(self.most, self.told, self._tried_out(now))

    def due(self, amount: float, now: float) -> float:
        """The moment from which so much may go. More than the bucket can hold may go when it is full."""
        if self.level == math.inf:
            return now
        lacking = min(amount, self.capacity) - self._filled(now)
        return now + lacking / self.rate(now) if lacking > _NEARLY else now

    def take(self, amount: float, now: float) -> None:
        if self.level != math.inf:
            self.level, self.at = self._filled(now) - amount, now

    def put_back(self, amount: float) -> None:
        """Correct what was taken: it was so much less, or more if negative."""
        if self.level != math.inf:
            self.level = min(self.capacity, self.level + amount)

    def hear(self, said: Allowance, *, sent: float, since: float, now: float) -> None:
        """Heed what the endpoint says it had left when a request came that was `sent` then, `since` which so much was taken.

        Its word only ever lowers the level: what it says when an outage is over would let everybody go at once.
        """
        if self.level == math.inf:
            self.capacity = self.level = said.limit
            self.paced = now
        self.told = said.rate if self.told == math.inf else max(self.told, said.rate)
        left = said.remaining + self.rate(now) * (now - sent) - since
        self.level, self.at = min(self._filled(now), left), now

    def slow(self, passed: int, over: float, now: float, *, doubling: float) -> None:
        """So many went through in the seconds before it was too much. There may have been no more to send: so no more is given
        up of a rate than a part.
        """
        measured, before = max(passed, 1) / max(over, MEASURED), self.rate(now) / MARGIN
        self.found = measured if before == math.inf else min(before, max(measured, KEPT * before))
        self.doubling, self.paced = doubling, now
        self.capacity, self.level, self.at = self._worth(self.found), 1.0, now

    def empty(self, now: float) -> None:
        """Only one is left: those who waited for this moment leave at the rate, and not all at once."""
        if self.level != math.inf:
            self.found, self.paced = self._tried_out(now), now
            self.level, self.at = min(self.level, 1.0), now

    def _worth(self, rate: float) -> float:
        return max(LEAST, rate * self.spread)

    def _tried_out(self, now: float) -> float:
        return self.found * (1 + (max(0.0, now - self.paced) / self.doubling) ** 2) if self.found != math.inf else self.found

    def _filled(self, now: float) -> float:
        if math.inf in (self.level, -self.at):  # without limits, or as it was made
            return self.level
        return min(self.capacity, self.level + self.rate(now) * max(0.0, now - self.at))


@dataclass(slots=True)
class Meter:
    """How many requests went to an endpoint and were not refused: since the last refusal, or in the last second of sending."""

    recent: deque[float] = field(default_factory=deque)
    passed: int = 0
    lost: int = 0
    since: float = -math.inf

    def sent(self, now: float) -> None:
        self.passed += 1
        self.recent.append(now)
        while self.recent[0] < now - MEASURED:
            self.recent.popleft()

    def refused(self, sent: float) -> None:
        """The request that was sent then has not gone through."""
        if sent >= self.since:
            self.passed -= 1
            self.lost += 1
        if sent in self.recent:
            self.recent.remove(sent)

    def read(self, now: float) -> tuple[int, float]:
        """How many, in how many seconds up to `now`; from now on it counts anew."""
        over = now - self.since
        measured = (self.passed, over) if over <= MEMORY else (len(self.recent), MEASURED)
        self.passed, self.lost, self.since = 0, 0, now
        return measured

    @property
    def noisy(self) -> bool:
        """Whether more were refused than happens by chance."""
        few, part = NOISE
        return self.lost > few + part * (self.passed + self.lost)
