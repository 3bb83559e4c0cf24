"""The virtual clock that time-dependent tests run on."""

import time

import anyio
import pytest

pytestmark = pytest.mark.anyio


async def test_an_hour_passes_in_no_time() -> None:
    """On a virtual clock a sleep ends as soon as nothing else can happen, and the clock says that it lasted."""
    began, really = anyio.current_time(), time.monotonic()

    await anyio.sleep(3600)

    assert anyio.current_time() - began >= 3600
    assert time.monotonic() - really < 5


async def test_timeouts_fire_in_order() -> None:
    """A shorter timeout wins over a longer sleep."""
    with anyio.move_on_after(10) as scope:
        await anyio.sleep(11)
    assert scope.cancelled_caught
