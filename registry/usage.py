"""What model requests cost, counted so that unknown never turns into zero."""

from decimal import Decimal
from typing import Literal

from msgspec import Struct

NOTHING = Decimal(0)

Kind = Literal["tokens", "cost", "requests", "seconds"]
"""What may be limited: tokens, US dollars, requests to models, time."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens, requests and money of one reply or of many; add them with `+`.

    `requests` counts replies and failed attempts alike. `unmetered` counts those among them for which nobody
    reported tokens: while it is not 0, the token figures are lower bounds and are to be shown as "at least".
    `input_tokens` includes `cache_read_tokens` and `cache_write_tokens`; `output_tokens` includes `reasoning_tokens`.
    `cost` is in US dollars. `priced` counts the requests whose cost is known in full: while there are others,
    `cost` is a lower bound too, and unknown where it is 0.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    unmetered: int = 0
    cost: Decimal = NOTHING
    priced: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            unmetered=self.unmetered + other.unmetered,
            cost=self.cost + other.cost,
            priced=self.priced + other.priced,
        )

    @property
    def tokens(self) -> int:
        """Input and output together; a lower bound while `exact` is False."""
        return self.input_tokens + self.output_tokens

    @property
    def exact(self) -> bool:
        """Whether every request reported its tokens."""
        return self.unmetered == 0

    @property
    def unpriced(self) -> int:
        """Requests of which nobody knows what they cost in full."""
        return self.requests - self.priced

    @property
    def cost_exact(self) -> bool:
        """Whether `cost` is what all of it cost."""
        return self.unpriced == 0


UNMETERED = Usage(requests=1, unmetered=1)
"""One request of which nobody said what it cost."""
