"""The user-facing answer of one agent, streamed: written anew from the whole trace, or else the loop's own."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec.structs import replace

from orchestrator.hooks import Hook
from orchestrator.prompts import TRACE_CUT, trace_request
from orchestrator.react.outcome import AgentResult
from orchestrator.synthesis import CUT_OFF
from registry.calls import Call
from registry.context import ContextGuard
from registry.errors import ModelError, Truncated
from registry.messages import Piece, Reply, Reset, TextPiece
from registry.models.model import Model


class FinalAnswer:
    """One answer on its way to the user. What was shown is never shown twice: a `Reset` stands before anything else."""

    def __init__(self, model: Model, guard: ContextGuard, hooks: Hook, *, result_chars: int = TRACE_CUT) -> None:
        self._model, self._guard, self._hooks, self._result_chars = model, guard, hooks, result_chars
        self._shown = False

    async def stream(self, result: AgentResult, call: Call) -> AsyncGenerator[Piece, None]:
        """The pieces. Only a stream that the model itself brought to its end has its `Reply` as the last one."""
        try:
            async with aclosing(self._written(result, call)) as pieces:
                async for piece in pieces:
                    yield piece
        except ModelError as error:
            if self._shown:
                yield Reset(str(error))
            yield TextPiece(result.answer or f"There is no answer: {result.error or error}")

    async def _written(self, result: AgentResult, call: Call) -> AsyncGenerator[Piece, None]:
        request = trace_request(result.transcript, result_chars=self._result_chars, budget=self._guard.budget)
        fitted = self._guard.fit(request.messages)
        async with aclosing(self._model.stream_chat(replace(request, messages=fitted.messages), call)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    if piece.finish == "refused" or not piece.text.strip():
                        raise Truncated(self._model.name, "it wrote no answer")
                    if piece.finish == "length":
                        yield TextPiece(CUT_OFF)
                        piece = replace(piece, text=piece.text + CUT_OFF)  # noqa: PLW2901
                    yield piece
                    return
                await self._hooks.on_stream(piece, call)
                self._shown = self._shown or isinstance(piece, TextPiece)
                if isinstance(piece, Reset):
                    self._shown = False
                yield piece
        raise Truncated(self._model.name, "the stream ended without a reply")
