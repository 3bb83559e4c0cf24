"""Which event loop it is, and what is closed when it ends."""

import anyio
import anyio.lowlevel
import pytest

from registry.loops import at_loop_end, on_asyncio, on_trio


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


@pytest.mark.parametrize(("backend", "told"), [("asyncio", (True, False)), ("trio", (False, True))])
def test_which_loop_it_is(backend: str, told: tuple[bool, bool]) -> None:
    """It is one of the two while it runs, and none where none runs."""

    async def main() -> tuple[bool, bool]:
        return on_asyncio(), on_trio()

    assert (False, False) == (on_asyncio(), on_trio())
    assert told == anyio.run(main, backend=backend)
