"""What a model or tool call belongs to."""

import math
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from registry.allowances import Allowances
from registry.budget import Budget

Purpose = Literal["plan", "verdict", "selection", "step", "compaction", "synthesis", "structured"]

InDoubt = Literal["ask", "retry", "skip", "fail", "probe"]
"""What to do about an effect that was begun and whose outcome nobody wrote down: ask a person, do it again and risk that it
happens twice, go on without it, let the step fail, or ask the tool and then, if need be, a person."""


class Seen(Protocol):
    """What one tool call came to: `registry.tools.tool.Observation`, as other tools may read it."""

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def error(self) -> str | None: ...

    @property
    def data(self) -> Any: ...


class Call(Struct, frozen=True, kw_only=True):
    """The context of one model or tool call. It travels down the whole stack and never changes.

    `scope` names what the call belongs to within the run, such as `plan/1`, `step/<digest>` or `synthesis`.
    `attempt` counts from 1. `rank` orders waiting requests, larger first; this layer does not ask what it means.
    `deadline` is a moment of `anyio.current_time()` in seconds, None for none: whoever waits scopes that wait by it.
    `label` is the name a person knows the scope by, and `iteration` the lap of its loop, from 1: both are shown, never keyed.
    `queued` hears when the call's request begins to wait for a slot (None) and when it got one (the seconds it waited).
    `heard` hears that the endpoint answers, and is in order, before the answer is read: with what it says of its limits, None
    for nothing. `again` hears that the wire is about to send the request once more, said otherwise, is awaited before that, and
    raises a `ModelError` where it may not. `budget` is what the call is paid from, None for no limit.
    `key` is the idempotency key of an effect: the same for every attempt at the same call, empty where there is none.
    `in_doubt` is the policy for effects whose outcome is not known. `earlier` is what the calls of the same reply have come to
    that had ended before this one began, in call order.
    """

    run: str = ""
    scope: str = ""
    purpose: Purpose = "step"
    attempt: int = 1
    rank: float = 0.0
    deadline: float | None = None
    label: str = ""
    iteration: int = 0
    key: str = ""
    in_doubt: InDoubt = "ask"
    earlier: tuple[Seen, ...] = ()
    queued: Callable[[float | None], None] | None = None
    heard: Callable[[Allowances | None], None] | None = None
    again: Callable[[], Awaitable[None]] | None = None
    budget: Budget | None = None

    @property
    def ends(self) -> float:
        """The moment when its time is over, or that of its budget; infinity for never."""
        deadline = math.inf if self.deadline is None else self.deadline
        return deadline if self.budget is None else min(deadline, self.budget.until)

    def under(self, key: str) -> "Call":
        """The same call with this key."""
        return replace(self, key=key)


NO_CALL = Call()
"""For calls outside any run: scripts, probes, an agent used alone."""
