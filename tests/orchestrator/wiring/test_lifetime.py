"""Connections that no block closes."""

import anyio
import pytest

from orchestrator.wiring.lifetime import LoopBound
from registry.calls import NO_CALL
from registry.http import HttpDoor
from registry.messages import Reply, Request, TextPiece, UserMessage
from registry.testing import ScriptedModel, says

HELLO = Request(messages=(UserMessage(text="Hello"),))


class CountingDoor(HttpDoor):
    """Counts how often it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = 0

    async def aclose(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_door_is_closed_once_in_each_loop(backend: str) -> None:
    """However many models and calls there were, it is closed when the loop ends and not before."""
    door = CountingDoor()
    models = [LoopBound(ScriptedModel(lambda _: "Hello"), door) for _ in range(2)]

    async def talk() -> None:
        before = door.closed
        for model in (*models, *models):
            await model.chat(HELLO, NO_CALL)
        assert before == door.closed

    for loops in (1, 2):
        anyio.run(talk, backend=backend)
        assert loops == door.closed


@pytest.mark.anyio
async def test_a_stream_passes_through() -> None:
    """The pieces are the inner model's."""
    model = LoopBound(ScriptedModel([says("Hello there")]), CountingDoor())

    pieces = [piece async for piece in model.stream_chat(HELLO, NO_CALL)]

    assert [TextPiece("Hello "), TextPiece("there")] == pieces[:2]
    assert isinstance(pieces[2], Reply)
