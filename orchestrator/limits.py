"""The numbers of a run that a user may set."""

from decimal import Decimal

from msgspec import Struct

from registry.budget import KINDS, Amounts
from registry.errors import ConfigurationError


class Limits(Struct, frozen=True, kw_only=True):
    """`step_seconds` and `step_iterations` hold for a step that sets none.

    `rounds` counts plans: the first one and its revisions. A submitted plan is revised only where `submitted_rounds` allows more
    than one. Of the tool calls of one reply that may go side by side, `tool_width` do so at a time. `reply_tokens` caps each
    reply of a step's agent and `answer_tokens` the final answer, None for no cap of ours.

    A run never makes more than `max_requests` requests to models, in all its lives together, and takes no more than about
    `max_tokens`, `max_cost` (US dollars) and `max_seconds` of work; None for no limit. Raises `ConfigurationError` for limits
    that are none.
    """

    step_seconds: float = 600.0
    step_iterations: int = 15
    rounds: int = 3
    submitted_rounds: int = 1
    tool_width: int = 16
    reply_tokens: int | None = None
    answer_tokens: int | None = None
    max_requests: int | None = None
    max_tokens: int | None = None
    max_cost: Decimal | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.max_cost, float):  # it would not be the amount that was written
            raise ConfigurationError(f"max_cost is dollars, such as Decimal('0.5'), and not the float {self.max_cost!r}")
        for kind in KINDS:
            limit = getattr(self.budget, kind)
            if limit is not None and not (limit >= 0 if kind == "cost" else limit > 0):
                raise ConfigurationError(f"max_{kind} must be above 0, and not {limit!r}; None is for no limit")

    @property
    def budget(self) -> Amounts:
        """What a whole run may take."""
        return Amounts(requests=self.max_requests, tokens=self.max_tokens, cost=self.max_cost, seconds=self.max_seconds)
