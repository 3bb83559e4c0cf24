"""How the engine reaches the world: everything that two equal runs could see differently comes in through here.

Monotonic time and waiting are anyio's; the test suite and a simulator make those virtual.
"""

import os
import random
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count

from msgspec import Struct


def _new_id() -> str:
    return uuid.uuid4().hex[:12]


def _now() -> datetime:
    return datetime.now(UTC)


_openings = count(1)


def _holder() -> str:
    import socket

    return f"process {os.getpid()} on {socket.gethostname()} (opening {next(_openings)})"


class Ports(Struct, frozen=True, kw_only=True):
    """`now` is the wall clock, `new_id` makes run ids, `jitter` a number in [0, 1) that spreads retries.

    `holder` names each opening of a run to those who find it claimed.
    """

    now: Callable[[], datetime] = _now
    new_id: Callable[[], str] = _new_id
    jitter: Callable[[], float] = random.random
    holder: Callable[[], str] = _holder

    @property
    def clock(self) -> Callable[[], float]:
        """The wall clock in seconds since the epoch, as Facts have it."""
        return time.time if self.now is _now else lambda: self.now().timestamp()
