"""Which event loop it is, and what is closed when it ends."""

import gc
from weakref import ref

import anyio
import anyio.lowlevel
import pytest

from registry.loops import PerLoop, at_loop_end, on_asyncio, on_trio


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


@pytest.mark.parametrize("inner", ["asyncio", "trio"])
@pytest.mark.parametrize("outer", ["asyncio", "trio"])
def test_each_loop_has_a_value_of_its_own(outer: str, inner: str) -> None:
    """It is made once in each loop, whichever runs beside it or asked last, and a loop that comes later never meets it."""
    values: PerLoop[object] = PerLoop(object)

    async def within() -> list[object]:
        return [values.get(), values.get()]

    async def main() -> tuple[object, list[object], object]:
        before = values.get()
        beside = await anyio.to_thread.run_sync(lambda: anyio.run(within, backend=inner))
        return before, beside, values.get()

    (before, (first, second), after), (later, *_) = (anyio.run(main, backend=outer) for _ in range(2))
    assert before is after
    assert first is second
    assert 3 == len({id(value) for value in (before, first, later)})


class Value:
    """Something that can be seen to go."""


def test_the_value_of_a_loop_goes_with_it() -> None:
    """Nothing holds a value when its loop is gone and another one has asked."""
    values, made = PerLoop(Value), []

    async def main() -> None:
        made.append(ref(values.get()))

    for _ in range(3):
        anyio.run(main)
    gc.collect()
    assert [None, None] == [value() for value in made[:2]]
