"""Who may send a request now, and who waits: slots, rates, freezes and outages of one model at one endpoint.

The gate decides and never waits. Of those in the queue only the first watches the clock, for the moment that its place names:
when that comes, or something else has changed, `serve` lets through whoever may go.
"""

import heapq
import math
from itertools import count

import anyio
from msgspec import Struct

from registry.allowances import Allowances
from registry.errors import CircuitOpen, ModelError, OverBudget, Overloaded, Unpriced, Unreachable
from registry.governor.breaker import Breaker, Outcome
from registry.governor.bucket import AFTER_OUTAGE, AFTER_REFUSAL, Bucket, Meter
from registry.governor.retry import LONGEST_PATIENCE
from registry.messages import Reply

SILENT = 20
"""Requests after which an endpoint that has not said a word of its limits is no longer listened to, until it refuses one."""

UNSTATED = 1.0
LONGEST_UNSTATED = 16.0
"""Seconds of a freeze for which the endpoint did not say how long it lasts: twice as long each time that nothing passed since."""

_TOO_MANY = 429
_SOON = 1e-6


class Admission(Struct, eq=False):
    """Leave to send one request at the moment `sent`, with the tokens that it may take.

    `requests` and `gone` are how many requests and tokens had been let through by then, this one included.
    """

    sent: float
    tokens: float
    probe: bool
    requests: int
    gone: float


class Place(Struct, eq=False):
    """A request in the queue, which is less than those that are served later.

    It ends with an admission, or with the error that ends its wait. Its owner waits until `stirred`, or for the moment `due`,
    whichever comes first.
    """

    rank: float
    arrival: int
    tokens: float
    due: float = math.inf
    stirred: anyio.Event | None = None
    admission: Admission | None = None
    refusal: ModelError | None = None

    def __lt__(self, other: "Place") -> bool:
        return (self.rank, self.arrival) < (other.rank, other.arrival)

    @property
    def waits(self) -> bool:
        return self.admission is None and self.refusal is None

    def stir(self) -> None:
        if self.stirred is not None:
            self.stirred.set()


class Gate:
    """Lets through `slots` requests at a time, as fast as the two buckets fill, by rank and then by arrival.

    An endpoint that asks to wait is left alone until then, by everybody. While it is out of order, or asks for more patience than
    anybody has, all requests fail at once, those in the queue too.
    """

    def __init__(self, endpoint: str, slots: int, requests: Bucket, tokens: Bucket) -> None:
        self.free, self.queue = slots, list[Place]()
        self.requests, self.tokens, self.breaker = requests, tokens, Breaker()
        self._endpoint, self._arrivals, self._meter = endpoint, count(), Meter()
        self._frozen = -math.inf
        self._refused: float | None = None
        self._sent, self._gone = 0, 0.0
        self._silent, self._pause = 0, UNSTATED

    def enter(self, rank: float, tokens: float, now: float) -> Place:
        """A place, which may be admitted already. Raises a `ModelError` when nobody may wait."""
        if error := self._shut(now):
            raise error
        self._thaw(now)
        place = Place(-rank, next(self._arrivals), tokens)
        if not self.queue and self._due(tokens, now) <= now:
            place.admission = self._admitted(tokens, now)
            return place
        heapq.heappush(self.queue, place)
        self.serve(now)
        return place

    def serve(self, now: float) -> None:
        """Let through whoever may go, and have the first of the others watch the clock."""
        self._thaw(now)
        while self.queue:
            first = self.queue[0]
            due = self._due(first.tokens, now)
            if due > now:
                if abs(due - first.due) > _SOON:  # and not where both are never
                    first.due = due
                    first.stir()
                return
            heapq.heappop(self.queue)
            first.admission = self._admitted(first.tokens, now)
            first.stir()

    def leave(self, place: Place, now: float) -> None:
        """Its owner no longer waits. What it was granted goes to the next."""
        if place.admission is not None:
            self.free += 1
            self._uncount(place.admission)
            self.tokens.put_back(place.tokens)
            self.breaker.settle("unknown", now, probe=place.admission.probe)
        elif place.refusal is None:
            self.queue.remove(place)
            heapq.heapify(self.queue)
        self.serve(now)

    def listens(self, admission: Admission) -> bool:
        """Whether `hear` is of use."""
        return admission.probe or self._silent <= SILENT

    def hear(self, admission: Admission, said: Allowances | None, now: float) -> None:
        """The endpoint begins to answer a request, and says so much of its limits. A probe need not wait for the whole reply."""
        if admission.probe:
            admission.probe = False
            self._judge("answered", now, probe=True)
            self.serve(now)
        if said is None:
            return
        self._silent = 0
        if said.requests is not None:
            since = max(0, self._sent - admission.requests)
            self.requests.hear(said.requests, sent=admission.sent, since=since, now=now)
        if said.tokens is not None:
            gone = max(0.0, self._gone - admission.gone)
            self.tokens.hear(said.tokens, sent=admission.sent, since=gone, now=now)

    def settle(self, admission: Admission, ended: Reply | ModelError | None, now: float, *, late: bool) -> CircuitOpen | None:
        """A request has ended, None for one that was cancelled; `late` if its caller's time was up.

        The error that its caller is to hear of, like all others, when it found the endpoint still down.
        """
        self.free += 1
        self._correct(admission, ended)
        outcome = outcome_of(ended, late=late)
        if isinstance(ended, Overloaded):
            self._freeze(admission, ended, now)
        if outcome == "outage" or _is_refusal(ended):
            self._uncount(admission)
        elif outcome == "answered":
            self._pause = UNSTATED
        self._judge(outcome, now, probe=admission.probe)
        self._turn_away(now)
        self.serve(now)
        return CircuitOpen(self._endpoint, self.breaker.shut_for(now)) if admission.probe and outcome == "outage" else None

    def _due(self, tokens: float, now: float) -> float:
        if not self.free or self.breaker.probing:
            return math.inf
        return max(self._frozen, self.requests.due(1, now), self.tokens.due(tokens, now))

    def _admitted(self, tokens: float, now: float) -> Admission:
        self.free -= 1
        self._sent += 1
        self._silent += 1
        self._gone += tokens
        self._meter.sent(now)
        self.requests.take(1, now)
        self.tokens.take(tokens, now)
        probe = self.breaker.pass_through()
        return Admission(now, tokens, probe, self._sent, self._gone)

    def _correct(self, admission: Admission, ended: Reply | ModelError | None) -> None:
        """Give back the tokens that were reserved and not used. What nobody metered is taken to be used."""
        match ended:
            case Reply(usage=usage) if usage.exact:
                self.tokens.put_back(admission.tokens - usage.tokens)
            case _ if _is_refusal(ended):
                self.tokens.put_back(admission.tokens)

    def _uncount(self, admission: Admission) -> None:
        """The endpoint did not take the request, so it counts nothing there."""
        self._meter.refused(admission.sent)
        self._silent = 0
        self._sent -= 1
        self.requests.put_back(1)

    def _freeze(self, admission: Admission, busy: Overloaded, now: float) -> None:
        if _is_refusal(busy):
            self._refused = max(admission.sent, self._refused or admission.sent)
        pause = self._pause if _is_refusal(busy) else 0.0
        self._frozen = max(self._frozen, now + (pause if busy.retry_after is None else busy.retry_after))

    def _thaw(self, now: float) -> None:
        """After a freeze everybody goes on at the rate, and at a lower one if too many that kept to it were refused."""
        if self._refused is None or now < self._frozen:
            return
        sent, self._refused = self._refused, None
        if self._meter.passed <= 0:  # the same refusal goes on, and says nothing new
            self._pause = min(2 * self._pause, LONGEST_UNSTATED)
            self.requests.empty(now)
        elif sent < self.requests.paced:
            self._meter.read(now)  # what was refused before the rate was known says nothing of it
            self.requests.empty(now)
        elif self._meter.noisy or self.requests.level == math.inf:
            self.requests.slow(*self._meter.read(now), now, doubling=AFTER_REFUSAL)
        else:
            self.requests.empty(now)

    def _judge(self, outcome: Outcome, now: float, *, probe: bool) -> None:
        """Tell the breaker. When it opens or closes, whoever waits or comes then finds an empty bucket."""
        if not self.breaker.settle(outcome, now, probe=probe):
            return
        if self.requests.level == math.inf:
            self.requests.slow(*self._meter.read(now), now, doubling=AFTER_OUTAGE)
        self.requests.empty(now)

    def _turn_away(self, now: float) -> None:
        """End the waits of all in the queue when nobody may wait."""
        while self.queue and (error := self._shut(now)):
            place = heapq.heappop(self.queue)
            place.refusal = error
            place.stir()

    def _shut(self, now: float) -> ModelError | None:
        if left := self.breaker.shut_for(now):
            return CircuitOpen(self._endpoint, max(left, self._frozen - now))
        if (left := self._frozen - now) > LONGEST_PATIENCE:
            return Overloaded(self._endpoint, "it asked everybody to wait", status=_TOO_MANY, retry_after=left)
        return None


def _is_refusal(ended: Reply | ModelError | None) -> bool:
    return isinstance(ended, Overloaded) and ended.status == _TOO_MANY


def outcome_of(ended: Reply | ModelError | None, *, late: bool) -> Outcome:
    """What the end of a request says of its endpoint: an error of the caller's, or its deadline, is no outage."""
    match ended:
        case Reply():
            return "answered"
        case None | OverBudget() | Unpriced():
            return "unknown"
        case Unreachable():
            return "unknown" if late else "outage"
        case Overloaded(status=status) if status is not None and status >= 500:
            return "outage"
        case _:
            return "answered"
