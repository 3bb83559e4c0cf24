"""The time as a tool."""

from datetime import UTC, datetime

import pytest

from registry.builtin.clock import clock_tool
from registry.calls import NO_CALL

pytestmark = pytest.mark.anyio


async def test_tells_the_given_clocks_time() -> None:
    """The time is ISO 8601, and the day of the week, which models get wrong, is said."""
    clock = clock_tool(lambda: datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC))

    assert await clock.run({}, NO_CALL) == "2026-02-03T04:05:06+00:00 (Tuesday)"
    assert (clock.spec.name, clock.traits.effect, clock.traits.trusted) == ("current_time", "pure", True)
