"""One question to an agent's model and its reply: journalled, streamed where a hook wants to see that, and counted."""

from contextlib import aclosing

from orchestrator.hooks import Hook
from orchestrator.journalled import JournalledModel
from registry.calls import Call
from registry.errors import ModelError, Truncated
from registry.messages import Reply, Request
from registry.usage import Usage


class Asking:
    """What one run of an agent asks its model. `usage` covers failed questions too, `waited` is the seconds they queued."""

    def __init__(self, model: JournalledModel, hooks: Hook) -> None:
        self._model, self._hooks = model, hooks
        self.usage = Usage()
        self.waited = 0.0

    async def reply(self, request: Request, call: Call) -> Reply:
        """The model's reply, whole. Raises a `ModelError`."""
        try:
            if await self._hooks.should_stream(call.iteration):
                reply = await self._streamed(request, call)
            else:
                reply = await self._model.chat(request, call)
        except ModelError as error:
            self.usage += error.usage
            raise
        self.usage += reply.usage
        self.waited += reply.waited
        return reply

    async def _streamed(self, request: Request, call: Call) -> Reply:
        async with aclosing(self._model.stream_chat(request, call)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    return piece
                await self._hooks.on_stream(piece, call)
        raise Truncated(self._model.name, "the stream ended without a reply")
