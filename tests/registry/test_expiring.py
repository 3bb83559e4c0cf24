"""What is kept for a while."""

import anyio
import pytest

from registry.expiring import Expiring
from tests.backends import backend

pytestmark = pytest.mark.anyio


async def test_values_expire() -> None:
    """A value is known until its time is over, and its time begins anew when it is learnt anew."""
    lately: Expiring[str, int] = Expiring(seconds=10)
    lately.learn("a", 0)
    lately.learn("b", 1)

    await anyio.sleep(9)
    lately.learn("b", 2)
    assert (0, 2, None) == (lately.known("a"), lately.known("b"), lately.known("c"))

    await anyio.sleep(2)
    assert (None, 2) == (lately.known("a"), lately.known("b"))


async def test_there_is_no_end_of_keys_but_of_memory() -> None:
    """Past the most that is kept, what was learnt first is forgotten."""
    lately: Expiring[int, str] = Expiring(seconds=10, most=2)
    for key in (1, 2, 1, 3):
        lately.learn(key, "x")

    assert ["x", None, "x"] == [lately.known(key) for key in (1, 2, 3)]


@pytest.mark.parametrize("name", ["asyncio", "trio"])
def test_loops_learn_for_themselves(name: str) -> None:
    """The clock of one event loop says nothing about another's, so nothing passes between them."""
    lately: Expiring[str, int] = Expiring(seconds=10)
    kind, options = backend(name, virtual=True)

    async def once() -> int | None:
        before = lately.known("a")
        lately.learn("a", 1)
        return before

    assert [None, None] == [anyio.run(once, backend=kind, backend_options=options) for _ in range(2)]
