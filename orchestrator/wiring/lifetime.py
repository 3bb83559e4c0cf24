"""Closing what nobody closes: a model from `connect` has no block around it, only the event loop that it is used in."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from anyio.lowlevel import RunVar

from registry.calls import Call
from registry.http import HttpDoor
from registry.messages import Piece, Reply, Request
from registry.models.layer import ModelLayer
from registry.models.model import Model


class LoopBound(ModelLayer):
    """A model whose connections are closed when the event loop ends, in each loop that it is used in."""

    def __init__(self, inner: Model, door: HttpDoor) -> None:
        super().__init__(inner)
        self._door = door

    async def chat(self, request: Request, call: Call) -> Reply:
        await _close_in_the_end(self._door)
        return await self._inner.chat(request, call)

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        await _close_in_the_end(self._door)
        async with aclosing(self._inner.stream_chat(request, call)) as pieces:
            async for piece in pieces:
                yield piece


_AT_THE_END: RunVar[dict[HttpDoor, AsyncGenerator[None, None]]] = RunVar("what is closed when the loop ends")


async def _close_in_the_end(door: HttpDoor) -> None:
    """An event loop finalises the asynchronous generators that are left when it ends, so one waits there for each door."""
    waiting = _AT_THE_END.get({})
    if door not in waiting:
        waiting[door] = _closing(door)
        _AT_THE_END.set(waiting)
        await anext(waiting[door])


async def _closing(door: HttpDoor) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await door.aclose()
