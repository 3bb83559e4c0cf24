"""One exchange with an endpoint that gives replies: what is the same whatever protocol it speaks."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

import anyio
from msgspec import Struct
from pydantic import SecretStr

from registry.allowances import allowances_in
from registry.calls import Call
from registry.errors import ModelError, Truncated, Unreachable
from registry.http import TIMEOUTS, AnswerStream, HttpDoor, Timeouts
from registry.messages import Piece, Reply, TextPiece
from registry.usage import Usage
from registry.wire.thinking import Pieces

PARTING = 0.1
"""Seconds that an endpoint has to close a stream after it said that it is done."""


class Assembling(Protocol):
    """Puts one streamed reply together from the bytes that arrive."""

    @property
    def done(self) -> bool:
        """Whether the endpoint said that nothing more comes."""
        ...

    @property
    def begun(self) -> bool:
        """Whether the model has said, thought or asked for anything yet."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the reply has its end."""
        ...

    @property
    def usage(self) -> Usage: ...

    def read(self, chunk: bytes) -> Pieces: ...

    def reply(self) -> tuple[Pieces, Reply]:
        """What was held back, and the whole reply. Raises a `ModelError` when it has no end."""
        ...


class Exchange(Struct, frozen=True, kw_only=True):
    """Where and how requests are sent. `endpoint` is the address as errors show it; `secret` is what they never show.

    `fault` makes the error that a status other than success means.
    """

    door: HttpDoor
    url: str
    endpoint: str
    headers: Mapping[str, str]
    secret: str
    fault: Callable[[int, Mapping[str, str], bytes], ModelError]
    timeouts: Timeouts = TIMEOUTS

    async def whole(self, body: bytes, call: Call, *, lift: Callable[[bytes], Reply]) -> Reply:
        """The reply that `lift` reads in the answer. Raises a `ModelError`."""
        try:
            answer = await self.door.post(self.url, self.headers, body, deadline=call.deadline, timeouts=self.timeouts)
            _tell(call, answer.status, answer.headers)
            self._check(answer.status, answer.headers, answer.body)
            return lift(answer.body)
        except ModelError as error:
            strike_out(self.secret, error)
            raise

    async def pieces(
        self, body: bytes, call: Call, *, assembler: Assembling, lift: Callable[[bytes], Reply]
    ) -> AsyncGenerator[Piece, None]:
        """A streamed reply, the whole of it last; or a whole one, read by `lift`, of an endpoint that doesn't stream."""
        door = self.door.stream(self.url, self.headers, body, deadline=call.deadline, timeouts=self.timeouts)
        try:
            async with door as answer:
                _tell(call, answer.status, answer.headers)
                if not _streams(answer):
                    whole = b"".join([chunk async for chunk in answer.chunks])
                    self._check(answer.status, answer.headers, whole)
                    reply = lift(whole)
                    if reply.text:
                        yield TextPiece(reply.text)
                    yield reply
                    return
                async with aclosing(self._assembled(answer.chunks, assembler)) as batches:
                    async for batch in batches:
                        for piece in batch:
                            yield piece
        except ModelError as error:
            strike_out(self.secret, error)
            raise

    async def _assembled(self, chunks: AsyncIterator[bytes], assembler: Assembling) -> AsyncGenerator[Sequence[Piece], None]:
        """What each read adds, and at the end what was held back with the whole reply."""
        try:
            async for chunk in chunks:
                yield assembler.read(chunk)
                if assembler.done:
                    await _finished(chunks)
                    break
        except Unreachable as error:
            if not assembler.complete:
                broken = Truncated if assembler.begun else Unreachable
                raise broken(self.endpoint, error.why, usage=assembler.usage) from error
        held, reply = assembler.reply()
        yield (*held, reply)

    def _check(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if not 200 <= status < 300:
            raise self.fault(status, headers, body)


def _tell(call: Call, status: int, headers: Mapping[str, str]) -> None:
    if call.heard is not None and status < 500:
        call.heard(allowances_in(headers))


def revealed(key: SecretStr | None) -> str:
    """The key as it is sent, empty for none."""
    return key.get_secret_value().strip() if key else ""


def strike_out(secret: str, error: ModelError) -> None:
    """Takes the secret out of the error's sentence and facts: some endpoints quote the key that they did not like."""
    if secret:
        error.args = tuple(_without(secret, fact) for fact in error.args)
        for name, fact in vars(error).items():
            setattr(error, name, _without(secret, fact))


def _without(secret: str, fact: object) -> object:
    return fact.replace(secret, "***") if isinstance(fact, str) else fact


async def _finished(chunks: AsyncIterator[bytes]) -> None:
    """Read the end of a body of which nothing more is wanted, so that its connection can serve again."""
    with anyio.move_on_after(PARTING):
        async for _ in chunks:
            pass


def _streams(answer: AnswerStream) -> bool:
    """Whether events follow. Some endpoints name no media type, so what is none of the others counts as a stream."""
    media = answer.headers.get("content-type", "")
    return 200 <= answer.status < 300 and "json" not in media and "html" not in media
