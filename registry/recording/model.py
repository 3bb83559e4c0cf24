"""A model that records another one to a file, or replays that file without it."""

from collections import defaultdict, deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from msgspec.structs import replace

from registry.calls import Call
from registry.errors import ConfigurationError, ModelError
from registry.messages import Piece, ReasoningPiece, Reply, Request, Reset, TextPiece
from registry.models.model import Model
from registry.recording.differences import described, instead
from registry.recording.exchanges import FORMAT, Exchange, RecordedError, Recording, Way, decode, encode, key_of

Mode = Literal["auto", "record", "replay"]
"""`record` asks the model and replaces the file, `replay` reads the file alone. `auto` replays what the file has and asks for
the rest where there is a model to ask."""


class NotRecorded(ConfigurationError):
    """A request that a replay has no reply to. `why` says what there is instead."""

    def __init__(self, path: Path, way: Way, request: Request, why: str) -> None:
        asked = described(way, request)
        super().__init__(f"{path} has no reply to this request ({asked}): {why}; to record anew, use mode='record'")
        self.path, self.way, self.request, self.why = path, way, request, why


class RecordedModel:
    """A model that records another to the file at `path`, or replays it from there without the other.

    Equal requests are answered in the order in which they were made. Every finished call is in the file before its reply is
    given out, so a test that crashes loses none. Raises `ConfigurationError` when there is neither a file nor a model, and for
    a file that can't be used; a call raises `NotRecorded`.
    """

    def __init__(self, inner: Model | None, path: Path | str, *, mode: Mode = "auto") -> None:
        self._path, self._inner = Path(path), None if mode == "replay" else inner
        known = None if mode == "record" else _read(self._path)
        if known is None and self._inner is None:
            raise ConfigurationError(f"there is no recording {self._path} to replay, and no model to record")
        if self._inner is not None:
            known = known or _empty(self._inner)
            if known.model != self._inner.name:
                raise ConfigurationError(f"{self._path} records {known.model!r}, not {self._inner.name!r}; use mode='record'")
        assert known is not None
        self.name, self.abilities, self.context_window = known.model, known.abilities, known.context_window
        self.endpoint = "" if self._inner is None else self._inner.endpoint
        self._recording = known
        self._exchanges: list[Exchange | None] = list(known.exchanges)
        self._left: defaultdict[str, deque[Exchange]] = defaultdict(deque)
        for exchange in known.exchanges:
            self._left[key_of(exchange.way, exchange.request)].append(exchange)

    async def chat(self, request: Request, call: Call) -> Reply:
        known = self._known("chat", request)
        if known is not None:
            return self._ending(known)
        assert self._inner is not None
        place = self._new_place()
        try:
            reply = await self._inner.chat(request, call)
        except ModelError as error:
            self._keep(place, Exchange(way="chat", request=request, error=RecordedError.of(error)))
            raise
        self._keep(place, Exchange(way="chat", request=request, reply=reply))
        return reply

    async def stream_chat(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        known = self._known("stream_chat", request)
        if known is None:
            async with aclosing(self._live(request, call)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        for shown in known.pieces:
            yield TextPiece(shown) if isinstance(shown, str) else shown
        yield self._ending(known)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._inner is not None:
            self._write()

    async def _live(self, request: Request, call: Call) -> AsyncGenerator[Piece, None]:
        """The inner model's stream. However it ends, what it showed is kept."""
        assert self._inner is not None
        place = self._new_place()
        pieces: list[str | ReasoningPiece | Reset] = []
        reply, failed = None, None
        try:
            async with aclosing(self._inner.stream_chat(request, call)) as stream:
                async for piece in stream:
                    if isinstance(piece, Reply):
                        reply = piece
                        break
                    pieces.append(piece.text if isinstance(piece, TextPiece) else piece)
                    yield piece
        except ModelError as error:
            failed = RecordedError.of(error)
            raise
        finally:
            if pieces or reply or failed:
                ended = Exchange(way="stream_chat", request=request, pieces=tuple(pieces), reply=reply, error=failed)
                self._keep(place, ended)
        if reply is not None:
            yield reply

    def _known(self, way: Way, request: Request) -> Exchange | None:
        """The next recorded exchange for this request; None when it is to be made. Raises `NotRecorded`."""
        left = self._left[key_of(way, request)]
        if left:
            return left.popleft()
        if self._inner is None:
            raise NotRecorded(self._path, way, request, instead(way, request, self._finished()))
        return None

    def _ending(self, exchange: Exchange) -> Reply:
        if exchange.error is not None:
            raise exchange.error.revived()
        if exchange.reply is None:
            why = f"its stream was left after {len(exchange.pieces)} pieces when it was recorded"
            raise NotRecorded(self._path, exchange.way, exchange.request, why)
        return exchange.reply

    def _new_place(self) -> int:
        """Where the exchange of this call will stand: by when it was asked, however long the reply takes."""
        self._exchanges.append(None)
        return len(self._exchanges) - 1

    def _keep(self, place: int, exchange: Exchange) -> None:
        # How long it queued is ours and not the model's: a replay does not queue, and each recording would differ.
        reply = exchange.reply and replace(exchange.reply, waited=0.0)
        self._exchanges[place] = replace(exchange, reply=reply)
        self._write()

    def _finished(self) -> tuple[Exchange, ...]:
        return tuple(exchange for exchange in self._exchanges if exchange is not None)

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_name(f"{self._path.name}.part")
        part.write_bytes(encode(replace(self._recording, exchanges=self._finished())))
        part.replace(self._path)


def _empty(model: Model) -> Recording:
    return Recording(
        format=FORMAT, model=model.name, abilities=model.abilities, context_window=model.context_window, exchanges=()
    )


def _read(path: Path) -> Recording | None:
    try:
        return decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"the recording {path} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path} is no recording: {error}") from error
