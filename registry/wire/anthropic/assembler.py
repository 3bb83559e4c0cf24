"""From the events of a stream of the Messages API to the pieces of a reply, and at its end to the whole of it."""

from collections.abc import Collection
from dataclasses import dataclass, field

from msgspec.structs import replace

from registry.errors import Garbled, Truncated, Unreachable
from registry.messages import Json, ReasoningPiece, Reply, TextPiece, ToolCall
from registry.usage import UNMETERED, Usage
from registry.wire.anthropic.faults import fault_inside
from registry.wire.anthropic.lift import input_text, said, title
from registry.wire.anthropic.thoughts import Thought, is_thought, kept
from registry.wire.decoding import decoded
from registry.wire.lift import finish_of, model_of, unique, written
from registry.wire.metering import usage_of
from registry.wire.sse import ServerSentEvent, SseDecoder
from registry.wire.surrogates import ends_in_half, mended
from registry.wire.thinking import Pieces


@dataclass(slots=True)
class _Flow:
    """Text that comes in parts. Half a character waits for its other half."""

    parts: list[str] = field(default_factory=list)
    half: str = ""

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def feed(self, said: str, *, last: bool = False) -> str:
        """What is certain by now of what came."""
        if self.half or not said.isascii():
            said, self.half = self.half + said, ""
            if ends_in_half(said) and not last:
                said, self.half = said[:-1], said[-1]
            said = mended(said)
        if said:
            self.parts.append(said)
        return said


@dataclass(slots=True, kw_only=True)
class _OpenThought:
    """A thought under construction, and where it stands."""

    begun: dict[str, Json]
    text: int
    calls: int
    grown: dict[str, list[str]] = field(default_factory=dict)

    def grow(self, delta: dict[str, Json]) -> None:
        for name in ("thinking", "signature"):
            if more := said(delta, name):
                self.grown.setdefault(name, []).append(more)

    def whole(self) -> Thought:
        grown = {name: "".join(parts) for name, parts in self.grown.items()}
        return Thought(block=self.begun | grown, text=self.text, calls=self.calls)


@dataclass(slots=True, kw_only=True)
class _OpenCall:
    """A call under construction. `given` is the input it began with, which counts if no more comes."""

    id: str
    name: str
    given: Json
    arguments: list[str] = field(default_factory=list)


class Assembler:
    """One attempt at one streamed reply. `taken` are the call ids that the transcript has already."""

    def __init__(self, endpoint: str, taken: Collection[str] = ()) -> None:
        self._endpoint, self._taken = endpoint, taken
        self._decoder = SseDecoder()
        self._text, self._thought = _Flow(), _Flow()
        self._thoughts: dict[Json, _OpenThought] = {}
        self._calls: dict[Json, _OpenCall] = {}
        self._usage: dict[str, Json] = {}
        self._counted = self._done = False
        self._finish: Json = None
        self._model = ""

    @property
    def done(self) -> bool:
        """Whether the endpoint said that nothing more comes."""
        return self._done

    @property
    def begun(self) -> bool:
        """Whether the model has said, thought or asked for anything yet."""
        return bool(self._text.parts or self._thought.parts or self._calls)

    @property
    def complete(self) -> bool:
        """Whether the reply has its end."""
        return self._done

    @property
    def usage(self) -> Usage:
        """What the endpoint has reported so far: a lower bound until the output is counted at the end."""
        told = usage_of(self._usage or None)
        return told if self._counted else replace(told, unmetered=1)

    def read(self, chunk: bytes) -> Pieces:
        """The pieces that some more bytes of the stream add. Raises as `feed` does."""
        return [piece for event in self._decoder.feed(chunk) for piece in self.feed(event)]

    def feed(self, event: ServerSentEvent) -> Pieces:
        """The pieces that one event adds. Raises Garbled, or the error that the endpoint reports in it."""
        if self._done or not event.data.strip():
            return []
        try:
            value = decoded(event.data, self._endpoint)
        except Garbled:
            if event.cut:  # an event that lost its end says nothing, and no end will follow it
                return []
            raise
        return self._event(value) if isinstance(value, dict) else []

    def reply(self) -> tuple[Pieces, Reply]:
        """The whole reply, and what a cut last event still held.

        Raises Truncated when the stream ended before the reply did, Unreachable when it ended before that began.
        """
        last = self._decoder.end()
        held = (self.feed(last) if last else []) + self._speak("", "", last=True)
        if not self._done:
            broken = Truncated if self.begun else Unreachable
            raise broken(self._endpoint, "the stream ended without message_stop", usage=self.usage)
        calls = unique(tuple(_made(call) for call in self._calls.values()), self._taken)
        return held, Reply(
            text=self._text.text,
            calls=calls,
            reasoning=self._thought.text,
            opaque=kept((thought.whole() for thought in self._thoughts.values()), self._endpoint),
            finish=finish_of(self._finish, self._endpoint, calls=bool(calls), refused=False, usage=self.usage),
            usage=self.usage,
            model=self._model,
        )

    def _event(self, value: dict[str, Json]) -> Pieces:
        match value:
            case {"type": "message_start", "message": dict(message)}:
                self._model = model_of(message)
                self._count(message.get("usage"))
            case {"type": "content_block_start", "content_block": dict(block)}:
                return self._began(_index(value), block)
            case {"type": "content_block_delta", "delta": dict(delta)}:
                return self._grew(_index(value), delta)
            case {"type": "message_delta", "delta": dict(delta)}:
                self._finish = delta.get("stop_reason") or self._finish
                self._counted = isinstance(value.get("usage"), dict)
                self._count(value.get("usage"))
            case {"type": "message_stop"}:
                self._done = True
            case {"type": "error"}:
                error = fault_inside(self._endpoint, value)
                error.usage = self.usage if self._usage else UNMETERED
                raise error
        return []  # pings, ends of blocks, and what is yet to be invented

    def _count(self, told: Json) -> None:
        """Counts are totals so far. A zero later on is a count that is told only once."""
        if isinstance(told, dict):
            self._usage |= {name: count for name, count in told.items() if count or name not in self._usage}

    def _began(self, index: Json, block: dict[str, Json]) -> Pieces:
        if block.get("type") == "tool_use":
            self._calls[index] = _OpenCall(id=title(block, "id"), name=title(block, "name"), given=block.get("input"))
        elif is_thought(block):
            self._thoughts[index] = _OpenThought(begun=block, text=len(self._text.text), calls=len(self._calls))
        return self._grew(index, block)

    def _grew(self, index: Json, delta: dict[str, Json]) -> Pieces:
        if index in self._calls:
            self._calls[index].arguments.append(said(delta, "partial_json"))
        if index in self._thoughts:
            self._thoughts[index].grow(delta)
        return self._speak(said(delta, "text"), said(delta, "thinking"))

    def _speak(self, said: str, thought: str, *, last: bool = False) -> Pieces:
        pieces: Pieces = []
        if (said or last) and (text := self._text.feed(said, last=last)):
            pieces.append(TextPiece(text))
        if (thought or last) and (reasoning := self._thought.feed(thought, last=last)):
            pieces.append(ReasoningPiece(reasoning))
        return pieces


def _index(value: dict[str, Json]) -> Json:
    """Which block an event is about."""
    index = value.get("index")
    return index if isinstance(index, int | str) else None


def _made(call: _OpenCall) -> ToolCall:
    return ToolCall(id=call.id, name=call.name, arguments=written("".join(call.arguments) or input_text(call.given)))
