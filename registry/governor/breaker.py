"""When an endpoint is no longer asked, and when it is asked again. A state machine: moments, in seconds, are arguments."""

from dataclasses import dataclass
from typing import Literal

FAILURES = 5
"""Outages in a row that open it."""

FIRST_REST = 0.5
LONGEST_REST = 15.0
"""Seconds that nobody asks: twice as long after each request that found the endpoint still down."""

State = Literal["closed", "open", "half-open"]
Outcome = Literal["answered", "outage", "unknown"]
"""What a request says of its endpoint. An answer may well be a refusal. Who was cancelled says nothing."""


@dataclass(slots=True)
class Breaker:
    """Closed, everybody asks. Open, nobody does until `until`. Half-open, one does for all: the probe."""

    state: State = "closed"
    failures: int = 0
    rest: float = 0.0
    until: float = 0.0

    def shut_for(self, now: float) -> float:
        """Seconds for which nobody is let through, 0 when somebody may be."""
        return max(0.0, self.until - now) if self.state == "open" else 0.0

    @property
    def probing(self) -> bool:
        """Whether all others wait for the outcome of one request."""
        return self.state == "half-open"

    def pass_through(self) -> bool:
        """Somebody is let through; whether as the probe."""
        if self.state == "closed":
            return False
        self.state = "half-open"
        return True

    def settle(self, outcome: Outcome, now: float, *, probe: bool) -> bool:
        """What came of a request; whether that opens or closes it."""
        if self.state != "closed" and not probe:
            return False  # sent before it opened: what is said of the endpoint now, the probe says
        match outcome:
            case "answered":
                self.failures, self.rest, self.state = 0, 0.0, "closed"
                return probe
            case "outage":
                self.failures += 1
                return self._open(now) if probe or self.failures >= FAILURES else False
            case "unknown":
                if probe:
                    self.state, self.until = "open", now
                return False

    def _open(self, now: float) -> bool:
        self.rest = min(LONGEST_REST, 2 * self.rest) if self.rest else FIRST_REST
        self.state, self.until = "open", now + self.rest
        return True
