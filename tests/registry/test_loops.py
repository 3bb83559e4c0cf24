"""What is closed when an event loop ends."""

import anyio
import anyio.lowlevel
import pytest

from registry.loops import at_loop_end


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_closed_with_the_loop(backend: str) -> None:
    """Each owner is closed once in each loop that it was used in, at its end and not before."""
    closed: list[str] = []
    owner = object()

    async def close() -> None:
        closed.append("closed")

    async def main() -> None:
        await at_loop_end(owner, close)
        await at_loop_end(owner, close)
        await anyio.lowlevel.checkpoint()
        closed.append("working")

    anyio.run(main, backend=backend)
    anyio.run(main, backend=backend)

    assert ["working", "closed", "working", "closed"] == closed
